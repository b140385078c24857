# std/cron: jobs at fixed times, each in a file of its own in /etc/cron.d.
#
#     component "jobs" {
#       source = "std/cron"
#       vars = {
#         jobs = {
#           backup = {
#             schedule = "30 2 * * *"
#             command  = "/usr/local/bin/backup --to /srv/backup"
#             user     = "backup"
#           }
#           rotate = {
#             schedule = "@daily"
#             command  = "/usr/local/bin/rotate"
#           }
#         }
#       }
#     }
#
# Several components live side by side as long as their jobs have different
# names. A job is as if /bin/sh -c COMMAND were run by its user; a percent sign
# has no special meaning, as it has in a crontab.
#
# Schedules are checked before anything is written. The user must be there when
# the job is written: cron would pass over the job without a word. The user may
# be made by the same run: require the component that makes it.
#
# Made absent, the jobs are removed; cron stays.

variable "jobs" {
  type = map(object({
    schedule    = string
    command     = string
    user        = optional(string, "root")
    environment = optional(map(string), {})
    description = optional(string)
  }))
  description = "The jobs by name. A schedule has the five fields minute, hour, day of month, month and day of week (0 and 7 are Sunday), or is one of @reboot, @hourly, @daily, @weekly, @monthly and @yearly. The environment has variables such as MAILTO and PATH."

  validation {
    condition     = length(local.wrong.names) == 0
    error_message = "No job can have the name ${join(", ", local.wrong.names)}: letters, digits, _ and -, a letter or digit first. cron passes over files with other names."
  }

  validation {
    condition     = length(local.wrong.schedules) == 0
    error_message = "The schedule of ${join(", ", local.wrong.schedules)} is none. It has five fields: minute (0-59), hour (0-23), day of month (1-31), month (1-12 or jan to dec), day of week (0-7 or sun to sat), each *, a number, a range 1-5, a list 1,3,5 or with a step */10; or it is @reboot, @hourly, @daily, @weekly, @monthly or @yearly."
  }

  validation {
    condition     = length(local.wrong.users) == 0
    error_message = "The user of ${join(", ", local.wrong.users)} is no name of an account: lower-case letters, digits, _, . and -."
  }

  validation {
    condition     = length(local.wrong.commands) == 0
    error_message = "The command of ${join(", ", local.wrong.commands)} is empty or has several lines: put a long one into a script."
  }

  validation {
    condition     = length(local.wrong.environments) == 0
    error_message = "The environment of ${join(", ", local.wrong.environments)} is wrong: a name has letters, digits and _, and a value is one line without double quotes."
  }

  validation {
    condition     = length(local.wrong.descriptions) == 0
    error_message = "The description of ${join(", ", local.wrong.descriptions)} has several lines."
  }
}

variable "prefix" {
  type        = string
  default     = ""
  description = "Put before each job's name in /etc/cron.d, so that components with jobs of the same names can live side by side."

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]*$", var.prefix))
    error_message = "A prefix has letters, digits, _ and -."
  }
}

variable "install" {
  type        = bool
  default     = true
  description = "Whether cron is installed, and started now and at boot."
}

variable "start" {
  type        = bool
  default     = true
  description = "Whether cron runs. Give false for a tree in which nothing runs, such as an image below --root."
}

locals {
  # What a crontab takes for each field: * or numbers, with a step; a name only
  # by itself.
  fields = [for field in [
    { number = "[0-5]?[0-9]", name = "" },
    { number = "([01]?[0-9]|2[0-3])", name = "" },
    { number = "(0?[1-9]|[12][0-9]|3[01])", name = "" },
    { number = "(0?[1-9]|1[0-2])", name = "|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec" },
    { number = "0?[0-7]", name = "|sun|mon|tue|wed|thu|fri|sat" },
  ] : format("(%[1]s(,%[1]s)*%[2]s)", format("(\\*(/[1-9][0-9]?)?|%[1]s(-%[1]s(/[1-9][0-9]?)?)?)", field.number), field.name)]

  schedule = "^(@(reboot|hourly|daily|midnight|weekly|monthly|yearly|annually)|${join("[ \\t]+", local.fields)})$"
  line     = "^[^\\n\\r\\x00]*$"

  # The names of the jobs that a validation refuses, by what is wrong with them.
  wrong = {
    names = [for name in keys(var.jobs) : jsonencode(name) if !can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", name))]
    schedules = [
      for name, job in var.jobs : name
      if !can(regex(local.schedule, lower(job.schedule))) || anytrue([
        for range in regexall("([0-9]+)-([0-9]+)", job.schedule) : tonumber(range[0]) > tonumber(range[1])
      ])
    ]
    users    = [for name, job in var.jobs : name if !can(regex("^[a-z_][a-z0-9_.-]*$", job.user))]
    commands = [for name, job in var.jobs : name if !can(regex(local.line, job.command)) || trimspace(job.command) == ""]
    environments = [
      for name, job in var.jobs : name
      if anytrue([
        for key, value in job.environment :
        !can(regex("^[A-Za-z_][A-Za-z0-9_]*$", key)) || !can(regex(local.line, value)) || strcontains(value, "\"")
      ])
    ]
    descriptions = [for name, job in var.jobs : name if !can(regex(local.line, coalesce(job.description, "-")))]
  }
}

state "cron" {
  description = "Install cron and start it."
  when        = var.install

  package "cron" {
    description = "The program that starts the jobs."
    retain      = true
  }

  service "cron" {
    description = "It runs now, and after the next boot."
    running     = var.start ? true : null
    enabled     = true
  }
}

state "job" {
  description = "Write each job."
  for_each    = var.jobs
  require     = var.install ? [state.cron] : []

  command "user" {
    description = "The job's user is an account of this host."
    when        = each.value.user != "root"
    argv        = ["getent", "passwd", each.value.user]
    plan        = true
    reads       = ["/etc/passwd"]
  }

  # cron looks at the directory once a minute: there is nothing to reload.
  file "job" {
    description = "The job, which cron finds by itself."
    path        = "/etc/cron.d/${var.prefix}${each.key}"
    content     = template("job.tmpl", each.value)
    owner       = "root"
    group       = "root"
    mode        = "0644"
  }
}

output "paths" {
  description = "Paths of the jobs' files, by the names of the jobs."
  value       = { for name in keys(var.jobs) : name => "/etc/cron.d/${var.prefix}${name}" }
}
