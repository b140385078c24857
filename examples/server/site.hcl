# A whole server from one site: accounts, access, network, file systems, a web
# server with certificates, jobs. README.md tells what there is and how to try it.

site {
  name = "server"
}

host "server" {
  executor = "local"
  roles    = ["base", "people", "network", "storage", "web", "jobs"]
}

variable "domain" {
  description = "The domain that the server's sites are below."
  type        = string
  default     = "example.test"
}

variable "mirror" {
  description = "Where packages, programs and the handbook come from."
  type        = string
  default     = "http://mirror.example.test"
  validation {
    condition     = startswith(var.mirror, "http://") || startswith(var.mirror, "https://")
    error_message = "The mirror is a URL with http or https."
  }
}

variable "mirror_key" {
  description = "The key that the mirror's packages are signed with: a file on the server, or armored text."
  type        = string
  default     = "/usr/share/keyrings/debian-archive-keyring.gpg"
}

variable "packages" {
  description = "What is installed from the mirror, by name; a version, or \"\" for any."
  type        = map(string)
  default     = { opendoas = "", gpg = "" }
}

variable "timezone" {
  type    = string
  default = "Etc/UTC"
}

variable "locales" {
  description = "The languages that there are; the first one is everybody's who chooses none."
  type        = list(string)
  default     = ["en_GB.UTF-8"]
}

variable "sites" {
  description = "The web sites, by their names below the domain."
  type        = set(string)
  default     = ["www"]
}

variable "keys" {
  description = "The SSH key of each person."
  type        = map(string)
  merge       = true
  default = {
    alice = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICtCm/zMh7uoPuUxj6d7354km/b4EuC0zzFSxUtvNpaR alice"
    bob   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpiLfFf81QZ065bV+8flMt+UwXS40UjktnP/x5Zx2ly bob"
    carol = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICiTKZMB8pG280FA/7LGnWnWojbN6Yt5eqm6BL7d6vkt carol"
    dave  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINIHdrgB4sPIoDLxXQc91+TDX94uXK42K46cirKhUOWQ dave"
    erin  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEm4CCQ94d0XbSv3o6l89achX3uIT2nqr5sBs/ZHpRPP erin"
  }
}

assert "systemd" {
  that    = fact.init == "systemd" && fact.package_manager == "apt"
  message = "This site is for Debian with systemd, and not for ${fact.os.name}."
}
