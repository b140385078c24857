# std/users: accounts of people, with their keys and what they may do, from one
# map.
#
#     component "people" {
#       source = "std/users"
#       vars = {
#         groups = {
#           developers = {}
#         }
#         users = {
#           alice = {
#             groups = ["developers"]
#             keys   = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA… alice@laptop"]
#             sudo   = "NOPASSWD"
#           }
#           bob = {
#             uid  = 2001
#             keys = [read("bob.pub")]
#           }
#           carol = {
#             absent = true
#           }
#         }
#       }
#     }
#
# An account's keys are these and no others: authorized_keys is written as a
# whole. What a user may do with sudo stands in a file of its own in
# /etc/sudoers.d, which visudo has checked before it counts.
#
# A new account has no password: its owner logs in by key, and sudo = true lets
# nobody in before there is a password, from passwords or from passwd. "NOPASSWD"
# asks for none.
#
# To let somebody go, keep the name with absent = true, which removes the
# account, its keys and its rights, and leaves the home directory. What is only
# deleted from the map stays on the hosts. Made absent, the component removes all
# of its accounts in the same way.
#
# The account by which tenet has come over SSH is not removed, and has a key: otherwise
# nothing is done. That it is the right key is for you to see to, and that the account may
# still become root: without sudo, its file in /etc/sudoers.d goes. Where the component is
# made absent nothing of that is looked at.
#
# Several components live side by side under different names of users.

variable "users" {
  type = map(object({
    uid     = optional(number)
    group   = optional(string)
    groups  = optional(list(string))
    shell   = optional(string, "/bin/bash")
    comment = optional(string)
    home    = optional(string)
    keys    = optional(list(string), [])
    sudo    = optional(string, "false")
    absent  = optional(bool, false)
  }))
  description = "The accounts by name. keys are lines as in a .pub file; sudo is true (asks for the password), false or \"NOPASSWD\". group is the primary group, by default one of the user's own; groups are the others: these only, or whichever there are if not given. home is /home/NAME by default."

  validation {
    condition     = length(local.wrong.names) == 0
    error_message = "No account can have the name ${join(", ", local.wrong.names)}: lower-case letters, digits, _ and -, a letter or _ first, at most 32."
  }

  validation {
    condition     = !contains(keys(var.users), "root")
    error_message = "The account root belongs to the system. For its keys, use a file part: /root/.ssh/authorized_keys."
  }

  validation {
    condition     = length(local.wrong.keys) == 0
    error_message = "${join(", ", local.wrong.keys)}: a key is one line as in a .pub file, such as \"ssh-ed25519 AAAA… name\", with options before it where they are wanted."
  }

  validation {
    condition     = length(local.wrong.sudo) == 0
    error_message = "${join(", ", local.wrong.sudo)}: sudo is true, false or \"NOPASSWD\"."
  }

  validation {
    condition     = length(local.wrong.homes) == 0
    error_message = "${join(", ", local.wrong.homes)}: a home is an absolute path below / without \"..\" in it."
  }

  validation {
    condition     = var.allow_lockout || length(local.wrong.login) == 0
    error_message = "tenet is logged in as ${join(", ", local.wrong.login)}, and could not log in any more. Give it keys, log in as another account, or set allow_lockout = true."
  }
}

variable "allow_lockout" {
  type        = bool
  default     = false
  description = "Takes the account away by which tenet has logged in, or all of its keys."
}

variable "groups" {
  type        = map(object({ gid = optional(number) }))
  default     = {}
  description = "Groups to be there before the accounts, by name. Others that accounts name must be there already."
}

variable "passwords" {
  type        = map(string)
  default     = {}
  sensitive   = true
  description = "Hashes of passwords by the names of users, as openssl passwd -6 prints them. An account without one keeps the password that it has."

  validation {
    condition     = length(setsubtract(keys(var.passwords), keys(var.users))) == 0
    error_message = "A password is for none of the users."
  }
}

locals {
  here   = { for name, user in var.users : name => user if !user.absent }
  homes  = { for name, user in var.users : name => coalesce(user.home, "/home/${name}") }
  rights = { "true" = "ALL=(ALL:ALL) ALL", "NOPASSWD" = "ALL=(ALL:ALL) NOPASSWD: ALL" }
  key    = "^([^#\\s][^\\n\\r\\x00]*[ \\t])?(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\\.com)[ \\t]+AAAA[A-Za-z0-9+/]+=*([ \\t][^\\n\\r\\x00]*)?$"

  # The names of the users that a validation refuses, by what is wrong with them.
  wrong = {
    names = [for name in keys(var.users) : jsonencode(name) if !can(regex("^[a-z_][a-z0-9_-]{0,31}$", name))]
    keys = [
      for name, user in var.users : name
      if !alltrue([for key in user.keys : can(regex(local.key, chomp(key)))])
    ]
    sudo  = [for name, user in var.users : name if !contains(["true", "false", "NOPASSWD"], user.sudo)]
    login = [for name, user in var.users : name if name == fact.login && (user.absent || length(user.keys) == 0)]
    homes = [for name, home in local.homes : name if !can(regex("^(/[^/\\s]+)+$", home)) || contains(split("/", home), "..")]
  }
}

state "groups" {
  description = "The groups, before the accounts that are in them."

  group "group" {
    description = "With its number, where one is given."
    for_each    = var.groups
    gid         = each.value.gid
  }
}

state "sudo" {
  description = "Install sudo, where somebody may use it."
  when        = anytrue([for user in values(local.here) : user.sudo != "false"])

  package "sudo" {
    description = "With visudo, which checks the files below."
    retain      = true
  }
}

state "account" {
  description = "Each account with its keys."
  for_each    = var.users
  ensure      = each.value.absent ? "absent" : null
  require     = [state.groups]

  user "account" {
    description = "The account, with its home directory."
    name        = each.key
    uid         = each.value.uid
    group       = each.value.group
    groups      = each.value.groups
    shell       = each.value.shell
    comment     = each.value.comment
    home        = local.homes[each.key]
    password    = lookup(var.passwords, each.key, null)
  }

  directory "ssh" {
    description = "For the user alone, or sshd ignores the keys. It may hold more of the user's."
    retain      = true
    path        = "${local.homes[each.key]}/.ssh"
    owner       = each.key
    group       = coalesce(each.value.group, each.key)
    mode        = "0700"
  }

  file "keys" {
    description = "The keys that open the account: these and no others."
    path        = "${local.homes[each.key]}/.ssh/authorized_keys"
    content     = join("", [for key in each.value.keys : "${chomp(key)}\n"])
    owner       = each.value.absent ? null : each.key
    group       = each.value.absent ? null : coalesce(each.value.group, each.key)
    mode        = "0600"
  }
}

state "rights" {
  description = "What each may do with sudo."
  for_each    = var.users
  ensure      = each.value.absent || each.value.sudo == "false" ? "absent" : null
  require     = [state.account[each.key], state.sudo]

  file "sudoers" {
    description = "Checked before it is put in place: one wrong file would close sudo to all."
    path        = "/etc/sudoers.d/${each.key}"
    content     = "# Kept by tenet.\n${each.key} ${lookup(local.rights, each.value.sudo, "")}\n"
    owner       = "root"
    group       = "root"
    mode        = "0440"
    validate    = ["visudo", "-c", "-q", "-f", "%s"]
  }
}

output "names" {
  description = "The names of the accounts that are there."
  value       = keys(local.here)
}

output "homes" {
  description = "Their home directories, by name."
  value       = { for name in keys(local.here) : name => local.homes[name] }
}
