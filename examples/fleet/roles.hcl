# What the hosts are.

variable "color" {
  type        = string
  default     = "blue"
  description = "What the pages say."
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
