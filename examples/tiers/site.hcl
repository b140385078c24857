# Three tiers: a proxy in front, an application behind it, and its database. Each host is a bare
# Debian 12 at the beginning.

site {
  name = "tiers"
}

variable "version" {
  type        = string
  default     = "1.4.0"
  description = "The release of the application."
}

host "proxy1" {
  address = "192.0.2.1"
  roles   = ["proxy"]
}

host "app1" {
  address = "192.0.2.11"
  roles   = ["app"]
}

host "db1" {
  address = "192.0.2.21"
  roles   = ["database"]
}

host_group "all" {
  hosts  = ["*"]
  user   = "deploy"
  become = true
}

rollout {
  stage "database" {
    hosts = "db*"
  }

  stage "app" {
    hosts = "app*"
  }

  stage "proxy" {
    hosts = "proxy*"
  }
}

# What each host gets.

component "people" {
  source = "std/users"
  vars = {
    users = {
      ada = {
        keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGzpuKE2ki52FsQjFEjkN8xl6wDSyKd3Q3MtX0hqSvcE ada"]
        sudo = "NOPASSWD"
      }
    }
  }
}

component "kernel" {
  source = "std/sysctl"
  vars = {
    settings = {
      "net.core.somaxconn" = "1024"
      "vm.swappiness"      = "10"
    }
  }
}

# The hosts know each other without a name server.
hosts_entry "tier" {
  for_each = { for h in hosts("*") : h.name => h.address }
  address  = each.value
  names    = [each.key]
}

file "/etc/motd" {
  content = "${host.name}, kept by tenet.\n"
}
