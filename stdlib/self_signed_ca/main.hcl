# std/self_signed_ca: an authority of your own that signs certificates, on one host.
#
#     component "ca" {
#       source = "std/self_signed_ca"
#       vars = {
#         name = "Example internal CA"
#         certificates = {
#           web = {
#             names = ["web.example.test", "192.0.2.10"]
#           }
#           database = {
#             names = ["db.example.test"]
#             owner = "postgres"
#           }
#         }
#       }
#     }
#
# The authority is /etc/ssl/ca/ca.pem with its key, ca.key, which nobody but root can
# read. A certificate is /etc/ssl/ca/NAME.pem with its key NAME.key, and
# NAME.chain.pem has both certificates in the order in which servers want them.
#
# Made once and then kept: a key is never written over, neither the authority's nor
# a certificate's; remove one by hand to have it made anew. A certificate is signed
# anew when it ends within renew_days, when its names change, and when it is not the
# authority's. The authority's own is made anew in time, and when its
# name changes, from the same key.
#
# notify on the component reloads what uses the certificates, such as
#
#     notify = [component.web.state.reload]
#
# for a component "web" with source = "std/nginx" and require = [component.ca]: its
# handlers come after what it sets up. Another server is reloaded by a handler of the
# site: reload "NAME" {}. Where it is not installed yet, there is nothing to reload.
#
# Several components live side by side in different directories.
#
# Made absent, the authority is no longer trusted by this host; keys and certificates
# stay, since nobody could bring them back.

variable "name" {
  type        = string
  default     = "tenet CA"
  description = "The authority's name, as people see it in certificates."

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9 ._-]{0,62}[A-Za-z0-9.])?$", var.name))
    error_message = "A name has up to 64 letters, digits, blanks, ., _ and -, and begins with a letter or digit."
  }
}

variable "directory" {
  type        = string
  default     = "/etc/ssl/ca"
  description = "Where the authority and its certificates are."

  validation {
    condition     = can(regex("^(/[A-Za-z0-9._-]+)+$", var.directory)) && !contains(split("/", var.directory), "..")
    error_message = "It is an absolute path of letters, digits and ._-/."
  }
}

variable "days" {
  type        = number
  default     = 3650
  description = "For how many days the authority's certificate is valid. It is made anew in the last tenth."

  validation {
    condition     = var.days >= 10 && floor(var.days) == var.days
    error_message = "It is a whole number of days, at least 10."
  }
}

variable "certificates" {
  type = map(object({
    names      = list(string)
    days       = optional(number, 397)
    renew_days = optional(number, 30)
    owner      = optional(string, "root")
    group      = optional(string, "root")
  }))
  default     = {}
  description = "The certificates by name. names are the host names and IP addresses that it is for, the first also being its subject. owner and group may read the key, which is of mode 0640."

  validation {
    condition     = alltrue([for name in keys(var.certificates) : can(regex("^[A-Za-z0-9][A-Za-z0-9._-]*$", name)) && name != "ca"])
    error_message = "A certificate's name has letters, digits, ., _ and -, and begins with a letter or digit; ca is the authority itself."
  }

  validation {
    condition     = length(local.wrong.names) == 0
    error_message = "${join(", ", local.wrong.names)}: names are host names such as web.example.test or *.example.test, and IP addresses; there is at least one."
  }

  validation {
    condition     = length(local.wrong.days) == 0
    error_message = "${join(", ", local.wrong.days)}: days and renew_days are whole numbers, and a certificate is valid for longer than its renew_days."
  }
}

variable "trust" {
  type        = bool
  default     = false
  description = "Whether this host trusts the authority, as it does those that come with ca-certificates."
}

variable "install" {
  type        = bool
  default     = true
  description = "Whether openssl is installed, and ca-certificates for trust."
}

locals {
  ca    = "${var.directory}/ca.pem"
  key   = "${var.directory}/ca.key"
  label = replace(trimprefix(var.directory, "/"), "/[^A-Za-z0-9]+/", "-")

  host = "^(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$"
  ips = {
    for name, certificate in var.certificates : name => [
      for each in certificate.names : each if can(cidrhost("${each}/${strcontains(each, ":") ? 128 : 32}", 0))
    ]
  }

  wrong = {
    names = [
      for name, certificate in var.certificates : name
      if length(certificate.names) == 0 || !alltrue([
        for each in certificate.names : contains(local.ips[name], each) || can(regex(local.host, each)) && !can(regex("^[0-9.]+$", each))
      ])
    ]
    days = [
      for name, certificate in var.certificates : name
      if floor(certificate.days) != certificate.days || floor(certificate.renew_days) != certificate.renew_days ||
      certificate.renew_days < 0 || certificate.renew_days >= certificate.days
    ]
  }
}

state "tools" {
  description = "Install what makes and trusts certificates."
  when        = var.install

  package "openssl" {
    description = "Makes keys, and signs."
    retain      = true
  }

  package "ca-certificates" {
    description = "What this host trusts."
    retain      = true
    when        = var.trust
  }
}

state "authority" {
  description = "Make the authority, once."
  require     = var.install ? [state.tools] : []

  directory "all" {
    description = "For the authority and all certificates. Who may read a key is up to the key."
    retain      = true
    path        = var.directory
    parents     = true
    owner       = "root"
    group       = "root"
    mode        = "0755"
  }

  file "request" {
    description = "What the authority's certificate says."
    retain      = true
    path        = "${var.directory}/ca.cnf"
    content     = template("ca.cnf.tmpl", { name = var.name })
    owner       = "root"
    group       = "root"
    mode        = "0644"
  }

  # It gets its name only when it is whole, and mv does not write over one.
  command "key" {
    description = "The key, for root alone."
    argv        = ["sh", "-c", read("key.sh"), "key", local.key]
    writes      = [var.directory]
    creates     = local.key
  }

  command "certificate" {
    description = "The certificate, signed by its own key."
    argv        = ["sh", "-c", read("authority.sh"), "authority", var.directory, tostring(var.days)]
    writes      = [var.directory]

    unless {
      command = ["sh", "-c", read("current.sh"), "current", var.directory, "ca", tostring(floor(var.days / 10) * 86400)]
    }
  }
}

state "certificate" {
  description = "Make each key, and sign its certificate where it is due."
  for_each    = var.certificates
  require     = [state.authority]

  file "request" {
    description = "What the certificate says."
    retain      = true
    path        = "${var.directory}/${each.key}.cnf"
    content = template("certificate.cnf.tmpl", {
      name  = each.value.names[0]
      hosts = [for name in each.value.names : name if !contains(local.ips[each.key], name)]
      ips   = local.ips[each.key]
    })
    owner = "root"
    group = "root"
    mode  = "0644"
  }

  command "key" {
    description = "The key, which stays the same over all renewals."
    argv        = ["sh", "-c", read("key.sh"), "key", "${var.directory}/${each.key}.key"]
    writes      = [var.directory]
    creates     = "${var.directory}/${each.key}.key"
  }

  file "key" {
    description = "Who may read the key."
    retain      = true
    path        = "${var.directory}/${each.key}.key"
    owner       = each.value.owner
    group       = each.value.group
    mode        = "0640"
  }

  command "sign" {
    description = "The certificate, signed by the authority."
    argv        = ["sh", "-c", read("sign.sh"), "sign", var.directory, each.key, tostring(each.value.days)]
    writes      = [var.directory]

    unless {
      command = ["sh", "-c", read("current.sh"), "current", var.directory, each.key, tostring(each.value.renew_days * 86400)]
    }
  }
}

state "trust" {
  description = "Let this host trust the authority."
  ensure      = var.trust ? null : "absent"
  require     = [state.authority]

  symlink "authority" {
    description = "The authority, among those that the host's owner adds."
    path        = "/usr/local/share/ca-certificates/${local.label}.crt"
    target      = local.ca
    notify      = [state.update_trust]
  }
}

state "update_trust" {
  description = "Put together anew what this host trusts. Runs when the authority is added or removed."
  lazy        = true

  command "update" {
    description = "What ca-certificates brings, and what was added."
    ensure      = "present" # also when the authority is taken away
    argv        = ["update-ca-certificates"]
  }
}

output "authority" {
  description = "Path of the authority's certificate, for those who shall trust it."
  value       = local.ca
}

output "certificates" {
  description = "Paths of each certificate, of its chain and its key, by its name."
  value = {
    for name in keys(var.certificates) : name => {
      certificate = "${var.directory}/${name}.pem"
      chain       = "${var.directory}/${name}.chain.pem"
      key         = "${var.directory}/${name}.key"
    }
  }
}
