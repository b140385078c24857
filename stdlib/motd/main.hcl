# std/motd: what people read when they log in.
#
# Either the message of the day as a whole:
#
#     component "motd" {
#       source = "std/motd"
#       vars = {
#         text = "Web server of example.test, kept by tenet.\n"
#       }
#     }
#
# or, with a name, one piece of it beside others: several components, and
# packages too, may each add theirs in /etc/motd.d.
#
#     component "notice" {
#       source = "std/motd"
#       vars = {
#         name = "maintenance"
#         text = "Down on Sunday from 2 to 4."
#       }
#     }
#
# Made absent, the message is removed.

variable "text" {
  type        = string
  description = "The message. A line end is added where its last line has none."
}

variable "name" {
  type        = string
  default     = null
  description = "Name of a piece in /etc/motd.d. Without it the text is all of /etc/motd."

  validation {
    condition     = var.name == null || can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name))
    error_message = "A name has letters, digits, _ and -, and begins with a letter or digit."
  }
}

variable "banner" {
  type        = string
  default     = null
  description = "Shown on the console before a login: the content of /etc/issue. Without it that file is left alone. An SSH server shows it only when told to: settings = { Banner = \"/etc/issue\" } of std/ssh_server."
}

locals {
  path = var.name == null ? "/etc/motd" : "/etc/motd.d/${var.name}"
}

state "message" {
  description = "Write the message of the day."

  directory "pieces" {
    description = "The directory of the pieces, which others use as well."
    retain      = true
    when        = var.name != null
    path        = "/etc/motd.d"
  }

  file "message" {
    description = "The message, for all to read."
    path        = local.path
    content     = "${chomp(var.text)}\n"
    owner       = "root"
    group       = "root"
    mode        = "0644"
  }
}

state "banner" {
  description = "Write what the console shows before a login."
  when        = var.banner != null

  file "banner" {
    description = "The text above the login prompt."
    path        = "/etc/issue"
    content     = "${chomp(var.banner)}\n"
    owner       = "root"
    group       = "root"
    mode        = "0644"
  }
}

output "path" {
  description = "Path of the message."
  value       = local.path
}
