# Three machines: two web servers behind one database, of which the database comes
# first.

site {
  name = "fleet"
}

variable "color" {
  type        = string
  default     = "blue"
  description = "What the pages say."
}

host "web1" {
  address = "192.0.2.1"
}

host "web2" {
  address = "192.0.2.2"
  vars    = { color = "green" }
}

host "db1" {
  address = "192.0.2.11"
  labels  = { tier = "data" }
}

host_group "all" {
  hosts  = ["*"]
  user   = "deploy"
  become = true
}

host_group "web" {
  hosts = ["web*"]
  roles = ["web"]
}

host_group "data" {
  labels = { tier = "data" }
  roles  = ["database"]
}

rollout {
  batch        = 1
  max_failures = 0

  stage "database" {
    hosts = "@data"
  }

  stage "web" {
    hosts = "@web"
  }
}

file "/etc/motd" {
  content = "This is ${host.name}.\n"
}

role "web" {
  package "nginx" {}

  file "/var/www/html/index.html" {
    content = "${var.color}, from ${host.name}, with the data of ${hosts("@data")[0].address}\n"
    require = [package.nginx]
  }

  service "nginx" {
    running = true
    enabled = true
    require = [package.nginx]
  }
}

role "database" {
  package "postgresql" {}

  service "postgresql" {
    running = true
    enabled = true
    require = [package.postgresql]
  }
}
