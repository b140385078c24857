# std/ssh_server: OpenSSH's server, hardened, without a way to lock yourself out.
#
#     component "ssh" {
#       source  = "std/ssh_server"
#       require = [component.people]
#       vars = {
#         allow_groups = ["admins"]
#         settings = {
#           ClientAliveInterval = "300"
#         }
#       }
#     }
#
# Passwords are no longer taken, and root needs a key. What is set stands in a
# file of its own, before all others in /etc/ssh/sshd_config.d: sshd takes the
# first value that it finds. Its own sshd_config stays as it is.
#
# You stay in, because
#
# - passwords are turned off only when an account can log in by key: one that has
#   a shell, is not expired, is let in by allow_users and allow_groups, and has a
#   key in an authorized_keys that sshd accepts. allow_lockout = true passes over
#   this. Accounts that the same run makes count: require their component.
# - nothing is done by which tenet itself could not log in any more: the account by
#   which it has come over SSH is let in still. To come as another one from now on, say
#   so by login: that one must be let in, and have a key.
# - sshd checks the new settings before they count, and that they are what it
#   then uses. If not, the former file is put back at once.
# - sshd is reloaded, never restarted: sessions go on.
# - afterwards the server must answer. If it does not, the former settings are put
#   back, it is reloaded again, and the run ends as failed.
# - the server is to run only once its settings are written: what somebody has broken in
#   them is put right although it does not run, and cannot start before.
#
# Made absent, the file is removed, and the distribution's settings count again. The
# server itself stays.

variable "password_authentication" {
  type        = bool
  default     = false
  description = "Whether passwords open a session."
}

variable "permit_root_login" {
  type        = string
  default     = "prohibit-password"
  description = "How root logs in: \"no\", \"prohibit-password\" (by key) or \"yes\"."

  validation {
    condition     = contains(["no", "prohibit-password", "yes"], var.permit_root_login)
    error_message = "It is \"no\", \"prohibit-password\" or \"yes\"."
  }

  validation {
    condition     = var.permit_root_login != "no" || var.allow_lockout || var.allow_users == null || length(setsubtract(coalesce(var.allow_users, []), ["root"])) > 0
    error_message = "Nobody could log in: allow_users names root only, and root is not let in."
  }
}

variable "allow_users" {
  type        = set(string)
  default     = null
  description = "The accounts that may log in, by name; all if not given."

  validation {
    condition     = var.allow_users == null || length(coalesce(var.allow_users, [])) > 0 || var.allow_lockout
    error_message = "Nobody could log in: without a name in it, leave allow_users out."
  }

  validation {
    condition     = alltrue([for name in coalesce(var.allow_users, []) : can(regex("^[a-z_][a-z0-9_.-]*$", name))])
    error_message = "A name has lower-case letters, digits, _, . and -."
  }
}

variable "allow_groups" {
  type        = set(string)
  default     = null
  description = "The groups whose members may log in, by name; all if not given."

  validation {
    condition     = var.allow_groups == null || length(coalesce(var.allow_groups, [])) > 0 || var.allow_lockout
    error_message = "Nobody could log in: without a name in it, leave allow_groups out."
  }

  validation {
    condition     = alltrue([for name in coalesce(var.allow_groups, []) : can(regex("^[a-z_][a-z0-9_.-]*$", name))])
    error_message = "A name has lower-case letters, digits, _, . and -."
  }
}

variable "allow_lockout" {
  type        = bool
  default     = false
  description = "Turns passwords off though no account can log in by key, such as where certificates or another program give access; and shuts out the account by which tenet logs in."
}

variable "login" {
  type        = string
  default     = null
  description = "The account by which tenet logs in over SSH from now on, if it is not the one by which it has come."

  validation {
    condition     = var.login == null || can(regex("^[a-z_][a-z0-9_.-]*$", var.login))
    error_message = "A name has lower-case letters, digits, _, . and -."
  }
}

variable "ports" {
  type        = list(number)
  default     = []
  description = "The ports to listen on; 22 if not given."

  validation {
    condition     = alltrue([for port in var.ports : port >= 1 && port <= 65535 && floor(port) == port])
    error_message = "A port is a whole number from 1 to 65535."
  }
}

variable "listen" {
  type        = list(string)
  default     = []
  description = "The addresses to listen on; all if not given."

  validation {
    condition     = alltrue([for address in var.listen : can(cidrhost("${address}/${strcontains(address, ":") ? 128 : 32}", 0))])
    error_message = "It takes IPv4 and IPv6 addresses, such as \"192.0.2.1\" and \"2001:db8::1\"."
  }
}

variable "settings" {
  type        = map(string)
  default     = {}
  description = "Further settings by sshd's keywords. They win over what the component sets itself for MaxAuthTries, LoginGraceTime, X11Forwarding and LogLevel."

  validation {
    condition     = alltrue([for name in keys(var.settings) : can(regex("^[A-Za-z][A-Za-z0-9]*$", name))])
    error_message = "A keyword has letters and digits only, such as ClientAliveInterval."
  }

  validation {
    condition     = length(local.reserved) == 0
    error_message = "${join(", ", local.reserved)}: these have variables of their own, and Match and Include belong into a file beside this one."
  }

  validation {
    condition     = alltrue([for value in values(var.settings) : can(regex("^[^\\s\\x00]([^\\n\\r\\x00]*[^\\s\\x00])?$", value))])
    error_message = "A value is one line, not empty, without blanks around it."
  }
}

variable "install" {
  type        = bool
  default     = true
  description = "Whether the server is installed, and started now and at boot."
}

variable "start" {
  type        = bool
  default     = true
  description = "Whether the server runs. Give false for a tree in which nothing runs, such as an image below --root: then it is not reloaded either."
}

locals {
  login = var.login != null ? var.login : fact.login

  path = "/etc/ssh/sshd_config.d/00-tenet.conf"

  reserved = [
    for name in keys(var.settings) : name
    if contains([
      "port", "listenaddress", "passwordauthentication", "kbdinteractiveauthentication",
      "challengeresponseauthentication", "permitrootlogin", "permitemptypasswords",
      "pubkeyauthentication", "allowusers", "allowgroups", "match", "include",
    ], lower(name))
  ]

  # Keywords have the same meaning in whatever case they are written.
  given = { for name in keys(var.settings) : lower(name) => name }
  defaults = {
    for name, value in {
      LogLevel       = "VERBOSE" # names the key of each login
      LoginGraceTime = "30"
      MaxAuthTries   = "4"
      X11Forwarding  = "no"
    } : name => value if !contains(keys(local.given), lower(name))
  }

  # What sshd must say itself when it is asked with -T.
  effective = [
    "passwordauthentication ${var.password_authentication ? "yes" : "no"}",
    "kbdinteractiveauthentication ${var.password_authentication ? "yes" : "no"}",
    "pubkeyauthentication yes",
    "permitemptypasswords no",
    "permitrootlogin ${var.permit_root_login == "prohibit-password" ? "without-password" : var.permit_root_login}",
  ]

  listened = element(concat(var.listen, ["127.0.0.1"]), 0)
  address  = lookup({ "0.0.0.0" = "127.0.0.1", "::" = "::1" }, local.listened, local.listened)
  port     = element(concat(var.ports, [22]), 0)
}

state "server" {
  description = "Install the server."
  when        = var.install

  package "openssh-server" {
    description = "The server with its unit."
    retain      = true
  }

}

state "way_in" {
  description = "Make sure that somebody can log in by key, and tenet as well."
  when        = !var.allow_lockout && (!var.password_authentication || local.login != null)
  require     = var.install ? [state.server] : []

  command "key" {
    description = "One account has a key that sshd would take, and so has the one that tenet comes as."
    argv = [
      "sh", "-c", read("way_in.sh"), "way_in", var.permit_root_login,
      join(" ", coalesce(var.allow_users, [])), join(" ", coalesce(var.allow_groups, [])),
      local.login == null ? "" : local.login, var.login == null ? "here" : "new",
      var.password_authentication ? "password" : "key",
    ]
    plan = true
  }
}

state "settings" {
  description = "Write the settings, once sshd has accepted them."
  require     = concat(var.install ? [state.server] : [], [state.way_in])

  file "settings" {
    description = "In place only if sshd uses just what is asked for."
    path        = local.path
    content = template("sshd.conf.tmpl", {
      password  = var.password_authentication
      root      = var.permit_root_login
      users     = var.allow_users
      groups    = var.allow_groups
      ports     = var.ports
      addresses = var.listen
      settings  = merge(local.defaults, var.settings)
    })
    owner    = "root"
    group    = "root"
    mode     = "0644"
    backup   = true
    validate = concat(["sh", "-c", read("accepted.sh"), "accepted"], local.effective)
    notify   = var.start ? [state.activate] : []
  }
}

state "running" {
  description = "Start the server, with the settings as they are now."
  when        = var.install
  require     = [state.settings]

  service "ssh" {
    description = "It runs now, and after the next boot."
    running     = var.start ? true : null
    enabled     = true
  }
}

state "activate" {
  description    = "Reload the server, which goes on with its sessions, and ask it. Runs when the settings have changed."
  lazy           = true
  notify_failure = [state.restore]

  reload "ssh" {
    description = "Takes the new settings for new sessions."
    ensure      = "present" # also when the settings are taken away
  }

  service "ssh" {
    description = "It takes them as it starts, where it did not run."
    running     = true
  }

  command "answers" {
    description = "The server answers with its keys."
    argv        = ["ssh-keyscan", "-T", "5", "-p", tostring(local.port), local.address]
    writes      = []
    retry = {
      attempts = 10
      delay    = "300ms"
    }
  }

  command "settled" {
    description = "From now on these settings are what would be put back."
    argv        = ["rm", "-f", "${local.path}.~tenet~"]
    writes      = ["${local.path}.~tenet~"]
  }
}

state "restore" {
  description = "Put the former settings back. Runs when the server does not answer with the new ones."
  lazy        = true

  command "settings" {
    description = "The former file, or none where there was none that sshd takes."
    argv        = ["sh", "-c", read("restore.sh"), "restore", local.path]
    writes      = [local.path, "${local.path}.~tenet~"]
  }

  reload "ssh" {
    description = "Takes the former settings."
  }

  service "ssh" {
    description = "Starts it again, if the settings ended it."
    running     = true
  }
}

output "ports" {
  description = "The ports that the server listens on."
  value       = concat(var.ports, length(var.ports) == 0 ? [22] : [])
}
