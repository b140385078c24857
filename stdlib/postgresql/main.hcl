# std/postgresql: a cluster of databases with its settings, roles and databases.
#
#     component "database" {
#       source = "std/postgresql"
#       vars = {
#         settings = {
#           max_connections  = "200"
#           log_min_duration_statement = "500ms"
#         }
#         roles = {
#           app      = {}
#           reporter = { member_of = ["pg_read_all_data"] }
#         }
#         passwords = {
#           app = secret("app")
#         }
#         databases = {
#           app = { owner = "app", extensions = ["pg_trgm"] }
#         }
#       }
#     }
#
# It is for Debian and what descends from it, where a cluster has a version and a
# name, such as 15/main, and its files in /etc/postgresql/15/main. Several components
# live side by side with different clusters.
#
# Settings stand in files of their own in conf.d, and are checked by the server's
# program before they count, with the memory that they ask for. The server is reloaded,
# and restarted only for those that need it; where it does not start with them, the
# former ones are put back, and the run ends as failed. The server is to run only once
# its settings are written: what somebody has broken in them is put right although it
# does not run, and cannot start before. Roles and databases are made where they are missing, and changed
# where they differ; nothing that is not named here is touched.
#
# A password goes to the server through a pipe, never in a program's arguments.
#
# Made absent, the settings are removed. The server, its access rules, roles and
# databases stay: data is not removed by leaving out a line.

variable "version" {
  type        = string
  default     = null
  description = "Major version, such as \"15\". By default the one that the host's release comes with."

  validation {
    condition     = can(regex("^[1-9][0-9]*$", local.version))
    error_message = "Give the major version, such as \"15\": which one this host's release comes with is not known."
  }
}

variable "cluster" {
  type        = string
  default     = "main"
  description = "Name of the cluster. The package brings main; any other is made."

  validation {
    condition     = can(regex("^[a-z0-9_]+$", var.cluster))
    error_message = "A cluster's name has lower-case letters, digits and _."
  }
}

variable "settings" {
  type        = map(string)
  default     = {}
  description = "The server's settings by name, such as shared_buffers = \"256MB\"."

  validation {
    condition     = alltrue([for name in keys(var.settings) : can(regex("^[a-z_][a-z0-9_.]*$", name))])
    error_message = "A setting has lower-case letters, digits, _ and ."
  }

  validation {
    condition     = alltrue([for value in values(var.settings) : can(regex("^[^\\n\\r\\x00]*$", value))])
    error_message = "A value is one line."
  }
}

variable "access" {
  type = list(object({
    type     = optional(string, "host")
    database = optional(string, "all")
    user     = optional(string, "all")
    address  = optional(string)
    method   = optional(string, "scram-sha-256")
  }))
  default     = null
  description = "Who gets in, as the lines of pg_hba.conf, the first that fits counting. The server's own account always gets in, by its socket. Without it the file stays as it is."

  validation {
    condition = alltrue([
      for rule in coalesce(var.access, []) :
      contains(["local", "host", "hostssl", "hostnossl", "hostgssenc", "hostnogssenc"], rule.type) &&
      (rule.type == "local") == (rule.address == null) &&
      alltrue([for word in compact([rule.database, rule.user, rule.address]) : can(regex("^[A-Za-z0-9_.:/,+-]+$", word))]) &&
      can(regex("^[a-z0-9-]+( [a-z]+=[A-Za-z0-9_.-]+)*$", rule.method))
    ])
    error_message = "A rule's type is local, host, hostssl or hostnossl, all but local with an address such as \"192.0.2.0/24\"; database and user are names, with commas between several."
  }
}

variable "roles" {
  type = map(object({
    login       = optional(bool, true)
    superuser   = optional(bool, false)
    createdb    = optional(bool, false)
    createrole  = optional(bool, false)
    replication = optional(bool, false)
    member_of   = optional(list(string), [])
  }))
  default     = {}
  description = "The roles by name. member_of are roles whose rights they have; others that a role has stay."

  validation {
    condition = alltrue([
      for name in flatten([for name, role in var.roles : concat([name], role.member_of)]) :
      can(regex("^[a-z_][a-z0-9_]{0,62}$", name))
    ])
    error_message = "A role's name has lower-case letters, digits and _, at most 63."
  }

  validation {
    condition     = !anytrue([for name in keys(var.roles) : name == "postgres" || startswith(name, "pg_")])
    error_message = "The role postgres, and those that begin with pg_, belong to the server."
  }
}

variable "passwords" {
  type        = map(string)
  default     = {}
  sensitive   = true
  description = "The passwords by the names of roles. A role without one keeps what it has."

  validation {
    condition     = length(setsubtract(keys(var.passwords), keys(var.roles))) == 0
    error_message = "A password is for none of the roles."
  }

  validation {
    condition     = alltrue([for password in values(var.passwords) : can(regex("^[ -~]{1,64}$", password))])
    error_message = "A password has up to 64 letters, digits and signs of ASCII, so that every program sends it alike."
  }
}

variable "databases" {
  type = map(object({
    owner      = optional(string, "postgres")
    encoding   = optional(string, "UTF8")
    locale     = optional(string, "C.UTF-8")
    extensions = optional(list(string), [])
  }))
  default     = {}
  description = "The databases by name. encoding and locale count when one is made, and are not changed later."

  validation {
    condition     = alltrue([for name, database in var.databases : can(regex("^[a-z_][a-z0-9_]{0,62}$", name)) && can(regex("^[a-z_][a-z0-9_]{0,62}$", database.owner))])
    error_message = "The names of a database and of its owner have lower-case letters, digits and _, at most 63."
  }

  validation {
    condition = alltrue([
      for database in values(var.databases) :
      can(regex("^[A-Z0-9_]+$", database.encoding)) && can(regex("^[A-Za-z0-9_.@-]+$", database.locale)) &&
      alltrue([for extension in database.extensions : can(regex("^[A-Za-z0-9_-]+$", extension))])
    ])
    error_message = "An encoding is such as UTF8, a locale such as C.UTF-8, and an extension has letters, digits, _ and -."
  }

  validation {
    condition     = !anytrue([for name in keys(var.databases) : contains(["postgres", "template0", "template1"], name)])
    error_message = "The databases postgres, template0 and template1 belong to the server."
  }
}

variable "install" {
  type        = bool
  default     = true
  description = "Whether the server is installed, and started now and at boot."
}

locals {
  version = coalesce(var.version, lookup({
    bullseye = "13", bookworm = "15", trixie = "17"
    focal    = "12", jammy = "14", noble = "16"
  }, fact.os.codename, "unknown"))

  name          = "${local.version}/${var.cluster}"
  unit          = "postgresql@${local.version}-${var.cluster}"
  configuration = "/etc/postgresql/${local.name}"
  restarted     = "${local.configuration}/conf.d/51-tenet-restart.conf"
  accepted      = ["sh", "-c", read("accepted.sh"), "accepted", local.version, local.configuration]

  # Reads commands from its standard input, and ends at the first that fails.
  psql = ["psql", "--cluster", local.name, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1"]

  # Where the server keeps what it is told, and tells what it does.
  data = ["/var/lib/postgresql", "/var/log/postgresql"]

  # A question ends with 0 when it has a row for an answer: what is divided by is
  # then 1.
  ask = concat(["runuser", "-u", "postgres", "--"], local.psql)

  # The settings that the server takes only when it starts.
  on_start = [
    "archive_mode", "autovacuum_freeze_max_age", "autovacuum_max_workers", "cluster_name", "data_sync_retry",
    "dynamic_shared_memory_type", "hot_standby", "huge_pages", "huge_page_size", "listen_addresses",
    "logging_collector", "max_connections", "max_files_per_process", "max_locks_per_transaction",
    "max_logical_replication_workers", "max_pred_locks_per_transaction", "max_prepared_transactions",
    "max_replication_slots", "max_wal_senders", "max_worker_processes", "min_dynamic_shared_memory", "port",
    "recovery_target_timeline", "reserved_connections", "shared_buffers", "shared_memory_type",
    "shared_preload_libraries", "superuser_reserved_connections", "track_activity_query_size",
    "track_commit_timestamp", "unix_socket_directories", "unix_socket_group", "unix_socket_permissions",
    "wal_buffers", "wal_decode_buffer_size", "wal_level", "wal_log_hints",
  ]
  files = {
    "50-tenet.conf"         = { for name, value in var.settings : name => value if !contains(local.on_start, name) }
    "51-tenet-restart.conf" = { for name, value in var.settings : name => value if contains(local.on_start, name) }
  }

  members = merge(concat([{}], [
    for name, role in var.roles : { for group in role.member_of : "${name} in ${group}" => { role = name, group = group } }
  ])...)
  extensions = merge(concat([{}], [
    for name, database in var.databases : {
      for extension in database.extensions : "${extension} in ${name}" => { extension = extension, database = name }
    }
  ])...)
}

state "server" {
  description = "Install the server."
  when        = var.install

  package "server" {
    description = "The server of this version, with the cluster main."
    retain      = true
    name        = "postgresql-${local.version}"
  }
}

state "cluster" {
  description = "Make the cluster."
  require     = var.install ? [state.server] : []

  command "create" {
    description = "An empty cluster, where the package has not made it."
    argv        = ["pg_createcluster", local.version, var.cluster]
    creates     = "${local.configuration}/postgresql.conf"
    writes      = concat(local.data, ["/etc/postgresql", "/run/postgresql", "/run/systemd/generator/postgresql.service.wants/${local.unit}.service"])
  }
}

state "settings" {
  description = "Write the settings, and who gets in, once the server's program has accepted them."
  require     = [state.cluster]

  file "reload" {
    description = "What the server takes while it runs."
    path        = "${local.configuration}/conf.d/50-tenet.conf"
    content     = template("settings.tmpl", { settings = local.files["50-tenet.conf"] })
    owner       = "postgres"
    group       = "postgres"
    mode        = "0644"
    validate    = concat(local.accepted, [local.restarted])
    notify      = [state.reload]
  }

  file "restart" {
    description = "What the server takes when it starts."
    ensure      = length(local.files["51-tenet-restart.conf"]) > 0 ? null : "absent"
    path        = local.restarted
    content     = template("settings.tmpl", { settings = local.files["51-tenet-restart.conf"] })
    owner       = "postgres"
    group       = "postgres"
    mode        = "0644"
    backup      = true
    validate    = local.accepted
    notify      = [state.restart]
  }

  file "access" {
    description = "Who gets in. The server's own account comes first, which keeps this component working."
    when        = var.access != null
    retain      = true
    path        = "${local.configuration}/pg_hba.conf"
    content     = template("pg_hba.conf.tmpl", { rules = coalesce(var.access, []) })
    owner       = "postgres"
    group       = "postgres"
    mode        = "0640"
    validate    = ["sh", "-c", read("rules.sh"), "rules", local.name, local.version, "${local.configuration}/pg_hba.conf"]
    notify      = [state.reload]
  }
}

# Not before: a server with settings that somebody has broken could not start.
state "running" {
  description = "Start the server, with the settings as they are now."
  require     = [state.settings]

  service "server" {
    description = "It runs now, and after the next boot."
    name        = local.unit
    running     = true
    enabled     = true
  }
}

state "reload" {
  description = "Let the server read its settings anew; connections go on."
  lazy        = true

  reload "server" {
    description = "Takes the settings that can change while it runs, and who gets in."
    ensure      = "present" # also when settings are taken away
    name        = local.unit
  }
}

state "restart" {
  description    = "Restart the server: connections end."
  lazy           = true
  notify_failure = [state.restore]

  restart "server" {
    description = "Takes the settings that count when it starts."
    ensure      = "present"
    name        = local.unit
  }

  command "settled" {
    description = "From now on these settings are what would be put back."
    argv        = ["rm", "-f", "${local.restarted}.~tenet~"]
    writes      = ["${local.restarted}.~tenet~"]
    user        = "postgres"
  }
}

state "restore" {
  description = "Put the former settings back. Runs when the server does not start with the new ones."
  lazy        = true

  command "settings" {
    description = "The former file, or none where there was none that the server takes."
    argv        = ["sh", "-c", read("restore.sh"), "restore", local.version, local.configuration, local.restarted]
    writes      = [local.restarted, "${local.restarted}.~tenet~"]
    user        = "postgres"
  }

  restart "server" {
    description = "Takes the former settings."
    name        = local.unit
  }
}

state "role" {
  description = "Make each role, and give it what it may do."
  for_each    = var.roles
  require     = [state.running]

  command "role" {
    description = "Made if it is missing, changed if it differs."
    argv        = local.psql
    writes      = local.data
    user        = "postgres"
    stdin       = template("role.sql.tmpl", { name = each.key, role = each.value })

    unless {
      command = concat(local.ask, ["--command", join(" ", [
        "SELECT 1 / count(*) FROM pg_roles WHERE rolname = '${each.key}'",
        "AND rolcanlogin = ${each.value.login} AND rolsuper = ${each.value.superuser}",
        "AND rolcreatedb = ${each.value.createdb} AND rolcreaterole = ${each.value.createrole}",
        "AND rolreplication = ${each.value.replication}",
      ])])
    }
  }
}

# The server is asked, so that a password that somebody has changed is changed back.
state "password" {
  description = "Give roles their passwords."
  for_each    = toset(nonsensitive(keys(var.passwords)))
  require     = [state.role[each.key]]

  command "same" {
    description = "Whether it is the role's password already."
    argv        = local.psql
    user        = "postgres"
    stdin       = template("password.sql.tmpl", { name = each.key, password = var.passwords[each.key], set = false })
    plan        = true
  }

  command "set" {
    description = "The server keeps only what is derived from it."
    argv        = local.psql
    writes      = local.data
    user        = "postgres"
    stdin       = template("password.sql.tmpl", { name = each.key, password = var.passwords[each.key], set = true })
    when        = trimspace(self.command.same.stdout) != "t"
  }
}

state "membership" {
  description = "Make roles members of others, once all are there."
  for_each    = local.members
  require     = [state.role]

  command "grant" {
    description = "The role gets the rights of the other."
    argv        = local.psql
    writes      = local.data
    user        = "postgres"
    stdin       = "GRANT \"${each.value.group}\" TO \"${each.value.role}\";\n"

    unless {
      command = concat(local.ask, ["--command", join(" ", [
        "SELECT 1 / count(*) FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles r ON r.oid = m.member",
        "WHERE g.rolname = '${each.value.group}' AND r.rolname = '${each.value.role}'",
      ])])
    }
  }
}

state "database" {
  description = "Make each database."
  for_each    = var.databases
  require     = [state.running, state.role] # there may be no role to wait for

  command "create" {
    description = "Empty, with its encoding and locale."
    argv        = local.psql
    writes      = local.data
    user        = "postgres"
    stdin       = "CREATE DATABASE \"${each.key}\" TEMPLATE template0 ENCODING '${each.value.encoding}' LOCALE '${each.value.locale}' OWNER \"${each.value.owner}\";\n"

    unless {
      command = concat(local.ask, ["--command", "SELECT 1 / count(*) FROM pg_database WHERE datname = '${each.key}'"])
    }
  }

  command "owner" {
    description = "Whoever owned it before."
    argv        = local.psql
    writes      = local.data
    user        = "postgres"
    stdin       = "ALTER DATABASE \"${each.key}\" OWNER TO \"${each.value.owner}\";\n"

    unless {
      command = concat(local.ask, ["--command",
      "SELECT 1 / count(*) FROM pg_database WHERE datname = '${each.key}' AND pg_get_userbyid(datdba) = '${each.value.owner}'"])
    }
  }
}

state "extension" {
  description = "Add extensions to the databases."
  for_each    = local.extensions
  require     = [state.database]

  command "create" {
    description = "The extension's files come with the server or a package."
    argv        = concat(local.psql, ["--dbname", each.value.database])
    writes      = local.data
    user        = "postgres"
    stdin       = "CREATE EXTENSION IF NOT EXISTS \"${each.value.extension}\";\n"

    unless {
      command = concat(local.ask, ["--dbname", each.value.database, "--command",
      "SELECT 1 / count(*) FROM pg_extension WHERE extname = '${each.value.extension}'"])
    }
  }
}

output "cluster" {
  description = "Version and name of the cluster, as its programs take it: psql --cluster."
  value       = local.name
}

output "unit" {
  description = "The cluster's unit of systemd."
  value       = local.unit
}

output "configuration" {
  description = "The directory of the cluster's configuration."
  value       = local.configuration
}
