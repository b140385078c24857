# std/apt_mirror: where apt gets the distribution's packages from.
#
#     component "mirror" {
#       source = "std/apt_mirror"
#       vars = {
#         url          = "http://mirror.example.test/debian"
#         security_url = "http://mirror.example.test/debian-security"
#       }
#     }
#
# The mirror stands in a file of its own in /etc/apt/sources.list.d, and its package
# lists are fetched. Only when it has answered, the files that the distribution
# brings, /etc/apt/sources.list and debian.sources or ubuntu.sources beside it, are
# set aside as FILE.disabled, which apt passes over; with distribution = true they
# stay, or come back. Sources of other makers stay in any case.
#
# Several components live side by side under different names.
#
# Made absent, the mirror's file is removed. What was set aside stays so, since a
# move cannot be taken back by leaving it out: apply distribution = true before.

variable "url" {
  type        = string
  description = "URL of the mirror, such as \"http://mirror.example.test/debian\"."

  validation {
    condition     = can(regex(local.url, var.url))
    error_message = "A URL has http://, https://, file:// or mirror+file:// in front, and no blanks or brackets."
  }
}

variable "security_url" {
  type        = string
  default     = null
  description = "URL of a mirror of the security updates. Without it these come from the distribution itself; \"\" leaves them out."

  validation {
    condition     = contains(["", null], var.security_url) || can(regex(local.url, coalesce(var.security_url, "-")))
    error_message = "A URL has http://, https://, file:// or mirror+file:// in front, and no blanks or brackets."
  }
}

variable "name" {
  type        = string
  default     = "mirror"
  description = "Name of the file: /etc/apt/sources.list.d/NAME.sources."

  validation {
    condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_-]*$", var.name)) && !contains(["debian", "ubuntu"], var.name)
    error_message = "A name has letters, digits, _ and -, and begins with a letter or digit; debian and ubuntu are the distribution's own."
  }
}

variable "suites" {
  type        = list(string)
  default     = null
  description = "The suites, such as [\"bookworm\", \"bookworm-updates\"]. By default those of the host's release."

  validation {
    condition     = var.suites == null || length(coalesce(var.suites, [])) > 0 && alltrue([for suite in coalesce(var.suites, []) : can(regex("^[A-Za-z0-9.][A-Za-z0-9./_-]*$", suite))])
    error_message = "A suite has letters, digits, ., /, _ and -; there is at least one."
  }
}

variable "components" {
  type        = list(string)
  default     = ["main"]
  description = "The components, such as [\"main\", \"non-free-firmware\"]. A suite that ends in / has none: then give []."

  validation {
    condition     = alltrue([for component in var.components : can(regex("^[A-Za-z0-9][A-Za-z0-9/_-]*$", component))])
    error_message = "A component has letters, digits, /, _ and -."
  }
}

variable "architectures" {
  type        = list(string)
  default     = []
  description = "The architectures, such as [\"amd64\"]; those of the host if not given."

  validation {
    condition     = alltrue([for architecture in var.architectures : can(regex("^[a-z0-9-]+$", architecture))])
    error_message = "An architecture has lower-case letters, digits and -."
  }
}

variable "sources" {
  type        = bool
  default     = false
  description = "Whether source packages come from there, too."
}

variable "signed_by" {
  type        = string
  default     = null
  description = "Path of the keys that sign the mirror's package lists; by default the distribution's. \"trusted\" takes lists without a signature, for a mirror of your own that has none."

  validation {
    condition     = var.signed_by == null || can(regex("^(trusted|(/[A-Za-z0-9._-]+)+)$", coalesce(var.signed_by, "-")))
    error_message = "It is an absolute path of letters, digits and ._-/, or \"trusted\"."
  }
}

variable "distribution" {
  type        = bool
  default     = false
  description = "Whether apt goes on using the sources that the distribution brings. What was set aside is put back."
}

variable "update" {
  type        = bool
  default     = true
  description = "Whether changes fetch package lists. Without it nobody knows whether the mirror answers."
}

locals {
  path   = "/etc/apt/sources.list.d/${var.name}.sources"
  update = ["apt-get", "-q", "-o", "APT::Update::Error-Mode=any"]

  url = "^(http|https|file|mirror\\+file)://[^\\s\\[\\]\\x00]*$|^file:/[^\\s\\[\\]\\x00]*$"

  ubuntu   = fact.os.id == "ubuntu"
  keys     = local.ubuntu ? "/usr/share/keyrings/ubuntu-archive-keyring.gpg" : "/usr/share/keyrings/debian-archive-keyring.gpg"
  codename = fact.os.codename
  suites   = coalesce(var.suites, [local.codename, "${local.codename}-updates"])
  security = coalesce(var.security_url, local.ubuntu ? "http://security.ubuntu.com/ubuntu" : "http://security.debian.org/debian-security")
}

state "sources" {
  description = "Name the mirror to apt."

  file "sources" {
    description = "The mirror, in apt's newer format."
    path        = local.path
    content = template("mirror.sources.tmpl", {
      types         = var.sources ? "deb deb-src" : "deb"
      components    = join(" ", var.components)
      architectures = join(" ", var.architectures)
      signed_by     = coalesce(var.signed_by, local.keys)
      mirrors = concat(
        [{ url = var.url, suites = join(" ", local.suites) }],
        var.security_url == "" || var.suites != null && var.security_url == null ? [] :
        [{ url = local.security, suites = "${local.codename}-security" }],
      )
    })
    owner  = "root"
    group  = "root"
    mode   = "0644"
    notify = var.update ? [state.fetch] : []
  }
}

state "fetch" {
  description = "Fetch the mirror's package lists, and no others. Runs when it has changed."
  lazy        = true

  command "update" {
    description = "A mirror that does not answer is an error."
    argv = concat(local.update, [
      "-o", "Dir::Etc::SourceList=${local.path}", "-o", "Dir::Etc::SourceParts=/dev/null",
      "-o", "APT::Get::List-Cleanup=false", "update",
    ])
    env  = { DEBIAN_FRONTEND = "noninteractive", LC_ALL = "C.UTF-8" }
    lock = ["packages"]
    retry = {
      attempts = 3
      delay    = "2s"
    }
  }
}

state "distribution" {
  description = "Set the distribution's own sources aside, once the mirror has answered, or put them back."
  for_each = toset([
    "/etc/apt/sources.list",
    "/etc/apt/sources.list.d/debian.sources",
    "/etc/apt/sources.list.d/ubuntu.sources",
  ])
  require = [state.sources]

  only_if {
    exists = var.distribution ? "${each.key}.disabled" : each.key
  }

  command "move" {
    description = "Nothing is lost: the file gets another name."
    argv        = var.distribution ? ["mv", "-n", "${each.key}.disabled", each.key] : ["mv", "-f", each.key, "${each.key}.disabled"]
    removes     = var.distribution ? "${each.key}.disabled" : each.key
    writes      = [each.key, "${each.key}.disabled"]
    notify      = var.update ? [state.update] : []
  }
}

state "update" {
  description = "Fetch all package lists anew, and forget those that are no longer named."
  lazy        = true

  command "update" {
    description = "A source that cannot be reached is an error."
    argv        = concat(local.update, ["update"])
    env         = { DEBIAN_FRONTEND = "noninteractive", LC_ALL = "C.UTF-8" }
    lock        = ["packages"]
    retry = {
      attempts = 3
      delay    = "2s"
    }
  }
}

output "path" {
  description = "Path of the file that names the mirror."
  value       = local.path
}
