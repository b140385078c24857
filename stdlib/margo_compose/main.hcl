# std/margo_compose: a component of a deployment of Margo, as Compose runs it.
#
#     component "web" {
#       source = "std/margo_compose"
#       vars = {
#         project     = "shop-web"
#         package     = "/var/cache/shop-web.tar.gz"
#         checksum    = "sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
#         environment = { GREETING = "Hello" }
#       }
#     }
#
# The package is a Compose Archive: a tar file, compressed by gzip, with one
# directory at its top, in which there is a compose.yaml. It is unpacked only with
# the right checksum. Parameters are variables of the environment, which
# compose.yaml names: ${GREETING}. They stand in a file that nobody else may read.
#
# It is started where package, parameters or program are others than those with
# which it was started, where one of its containers does not run, or is not there.
# It has failed where after the timeout not all of them have run for three seconds,
# or one says that it is not healthy. A container that has ended well counts as
# done. With wait = false nobody waits.
#
# The program is one that has Compose's commands: docker compose, podman compose,
# docker-compose or podman-compose. The last makes all containers of a project anew
# whenever it is started: it does not see what has changed.
#
# With removed = true containers and networks are taken away, also where compose.yaml
# is broken, and the component's directory, with all that the application has put
# into it. Named volumes stay.
# Made absent, the directory goes, and containers stay as they are: so removed = true
# comes first.
#
# tenet watch margo+https://… writes such components for a device of a manager of
# Margo; a site can have them without one.

variable "project" {
  type        = string
  description = "Name of the project, by which Compose knows its containers."

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9_-]*$", var.project)) && length(var.project) <= 250
    error_message = "A project has lower case letters, digits, _ and -, and begins with a letter or digit."
  }
}

variable "package" {
  type        = string
  default     = null
  description = "Absolute path of the package on the host. Required unless it is to be removed."

  validation {
    condition     = var.removed || can(regex("^/", var.package))
    error_message = "Give the absolute path of the package, or removed = true."
  }
}

variable "checksum" {
  type        = string
  default     = null
  description = "The digest of the package: sha256: and 64 hex digits. Required unless it is to be removed."

  validation {
    condition     = var.removed || can(regex("^sha256:[0-9a-f]{64}$", var.checksum))
    error_message = "A checksum is sha256: and 64 hex digits in lower case."
  }
}

variable "environment" {
  type        = map(string)
  default     = {}
  sensitive   = true
  description = "Variables that compose.yaml names. Values are taken as they are."

  validation {
    condition     = alltrue([for name in keys(var.environment) : can(regex("^[A-Za-z_][A-Za-z0-9_]*$", name)) && !can(regex("^(COMPOSE_|CONTAINERS_|DOCKER_|PODMAN_|LD_|PYTHON|(CONTAINER_HOST|PATH|HOME)$)", name))])
    error_message = "A variable has letters, digits and _, begins with no digit, and is none by which Compose and its programs run (PATH, HOME, CONTAINER_HOST, COMPOSE_…, CONTAINERS_…, DOCKER_…, PODMAN_…, LD_…, PYTHON…)."
  }

  validation {
    condition     = alltrue([for name, value in var.environment : !can(regex("\\x00", value)) && length(value) <= 32000])
    error_message = "A value has at most 32000 characters, and not the one with the number 0: the environment of a program does not hold others."
  }
}

variable "program" {
  type        = list(string)
  default     = ["docker", "compose"]
  description = "The program that has Compose's commands, with its first arguments."

  validation {
    condition     = length(var.program) > 0 && can(regex("(^|/)(docker|podman)(-compose)?$", try(var.program[0], "")))
    error_message = "The program is docker, podman, docker-compose or podman-compose."
  }
}

variable "wait" {
  type        = bool
  default     = true
  description = "Whether it has to run before anything goes on that requires it."
}

variable "timeout" {
  type        = number
  default     = 300
  description = "Seconds until it has to run, with the time in which images are pulled."

  validation {
    condition     = var.timeout >= 1 && var.timeout <= 86400 && floor(var.timeout) == var.timeout
    error_message = "The timeout is a whole number of seconds, from 1 to 86400."
  }
}

variable "directory" {
  type        = string
  default     = "/var/lib/margo"
  description = "Where components have their directories, one for each project."

  validation {
    condition     = can(regex("^(/[A-Za-z0-9._-]+)+$", var.directory))
    error_message = "The directory is an absolute path of letters, digits and ._-/."
  }
}

variable "removed" {
  type        = bool
  default     = false
  description = "Whether it is to go."
}

locals {
  home    = "${var.directory}/${var.project}"
  engine  = replace(var.program[0], "/-compose$/", "") # of docker-compose: docker, also with a path
  marker  = var.removed ? "" : sha256(jsonencode([var.checksum, var.program]))
  compose = ["sh", "-c", read("compose.sh"), "compose"]
  place   = [local.engine, var.project, local.home]

  # For a shell: what stands between ' is taken as it is.
  lines = [for name, value in var.environment : "export ${name}='${replace(value, "'", "'\\''")}'"]
}

state "files" {
  description = "Unpack the package, and write its parameters."
  when        = !var.removed

  directory "all" {
    description = "The directory of all components."
    retain      = true
    path        = var.directory
    mode        = "0711"
    parents     = true
  }

  directory "home" {
    description = "The component's own. It goes with all that is in it."
    force       = true
    path        = local.home
    mode        = "0711"
  }

  archive "package" {
    description = "Its files; what the application puts beside them stays."
    retain      = true # the directory above takes them along
    path        = "${local.home}/app"
    file        = var.package
    checksum    = var.checksum
    strip       = 1
    file_mode   = "0644"
    dir_mode    = "0755"
    limit       = 1073741824
  }

  file "environment" {
    description = "Its parameters."
    path        = "${local.home}/environment"
    content     = join("", [for line in local.lines : "${line}\n"])
    mode        = "0600"
  }
}

state "up" {
  description = "Start it, and wait until it runs."
  when        = !var.removed
  require     = [state.files]

  unless {
    command = concat(local.compose, ["running"], local.place, [local.marker])
  }

  command "up" {
    description = "Pulls the images that are missing, and makes anew what is to be another."
    argv        = concat(local.compose, ["up"], local.place, [local.marker, tostring(var.wait), tostring(var.timeout)], var.program)
    timeout     = "${var.timeout + 10}s"
  }
}

state "down" {
  description = "Stop it, and take its containers away."
  when        = var.removed

  only_if {
    exists = "${local.home}/app/compose.yaml"
  }

  command "down" {
    description = "Named volumes stay."
    argv        = concat(local.compose, ["down"], local.place, var.program)
    timeout     = "${var.timeout + 10}s"
  }
}

state "gone" {
  description = "Remove its directory."
  when        = var.removed
  require     = [state.down]

  directory "home" {
    description = "With all that is in it."
    ensure      = "absent"
    path        = local.home
    force       = true
  }
}

output "home" {
  description = "Where the component has its files."
  value       = local.home
}
