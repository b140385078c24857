# std/sysctl: parameters of the kernel, now and after each boot.
#
#     component "kernel" {
#       source = "std/sysctl"
#       vars = {
#         settings = {
#           "net.ipv4.ip_forward" = "1"
#           "vm.swappiness"       = 10
#         }
#       }
#     }
#
# Several components live side by side under different names; of two files that
# set one parameter, the later in the order of their names wins at boot. The
# running kernel is asked each time: what somebody has changed is changed back. A
# parameter that it does not have is an error, in a plan as well; a value that it
# refuses is one when it is applied.
#
# Made absent, the file is removed. The kernel keeps the values until the next
# boot, since nobody knows which ones it had before.

variable "settings" {
  type        = map(string)
  description = "Values by the names of their parameters, such as \"net.ipv4.ip_forward\"."

  validation {
    condition     = alltrue([for name in keys(var.settings) : can(regex("^[a-z0-9_]+([./][A-Za-z0-9_:@-]+)+$", name))])
    error_message = "A parameter has words with dots between them, such as net.ipv4.ip_forward (where a word has a dot itself, with slashes: net/ipv4/conf/eth0.1/forwarding)."
  }

  validation {
    condition     = alltrue([for value in values(var.settings) : can(regex("^[^\\s\\x00]+([ \\t]+[^\\s\\x00]+)*$", value))])
    error_message = "A value is one line, and not empty."
  }
}

variable "name" {
  type        = string
  default     = "tenet"
  description = "Name of the file: /etc/sysctl.d/60-NAME.conf."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "A name has letters, digits, _ and -, and begins with a letter or digit."
  }
}

variable "apply" {
  type        = bool
  default     = true
  description = "Whether the kernel gets the values at once. Give false for a tree that is not running, such as an image below --root, and the values count from its next boot."
}

locals {
  path = "/etc/sysctl.d/60-${var.name}.conf"

  # Where the kernel has each parameter. Within a word of a name, a slash stands for a dot. Some
  # of the network change others along with them.
  kernel = { for name in keys(var.settings) : name => "/proc/sys/${replace(replace(replace(name, "/", ":"), ".", "/"), ":", ".")}" }
  writes = { for name, path in local.kernel : name => startswith(name, "net.ip") ? "/proc/sys/net" : startswith(name, "vm.") ? "/proc/sys/vm" : path }
}

state "settings" {
  description = "Write the parameters for each boot."

  file "settings" {
    description = "Read at boot."
    path        = local.path
    content = join("", concat(["# Kept by tenet.\n"], [
      for name, value in var.settings : "${name} = ${value}\n"
    ]))
    owner = "root"
    group = "root"
    mode  = "0644"
  }
}

state "running" {
  description = "Give each parameter its value now, where the running kernel has another."
  for_each    = var.apply ? var.settings : {}
  require     = [state.settings]

  command "now" {
    description = "The value that the kernel has."
    argv        = ["sysctl", "--values", each.key]
    plan        = true
    reads       = [local.kernel[each.key]]
  }

  # Some values are lists, with tabs between the numbers.
  command "set" {
    description = "The value that it is to have."
    argv        = ["sysctl", "--quiet", "--write", "${each.key}=${each.value}"]
    writes      = [local.writes[each.key]]
    when        = join(" ", regexall("\\S+", self.command.now.stdout)) != join(" ", regexall("\\S+", each.value))
  }
}

output "path" {
  description = "Path of the file with the parameters."
  value       = local.path
}
