# One site: its content, its certificate and its configuration.

variable "name" {
  description = "The name that it answers to."
  type        = string
}

variable "tls" {
  description = "The directory with the authority's certificate, where that of the site goes."
  type        = string
}

variable "reload" {
  description = "What reloads nginx."
  default     = []
}

locals {
  root = "/srv/www/${var.name}"
}

state "content" {
  directory "root" {
    path    = local.root
    parents = true
  }

  file "index" {
    path    = "${local.root}/index.html"
    content = "<h1>Welcome to ${var.name}</h1>\n"
  }

  file "robots" {
    path    = "${local.root}/robots.txt"
    content = "User-agent: *\nDisallow: /private/\n"
  }
}

state "site" {
  require = [state.content]

  certificate "certificate" {
    path        = "${var.tls}/${var.name}.pem"
    private_key = "${var.tls}/${var.name}.key"
    common_name = var.name
    names       = [var.name]
    addresses   = ["127.0.0.1"]
    ca          = "${var.tls}/ca.pem"
    ca_key      = "${var.tls}/ca.key"
    days        = 90
    notify      = var.reload
  }

  file "configuration" {
    path    = "/etc/nginx/sites-available/${var.name}"
    content = template("site.conf.tmpl", { name = var.name, root = local.root, tls = var.tls })
    notify  = var.reload
  }

  symlink "enabled" {
    path   = "/etc/nginx/sites-enabled/${var.name}"
    target = "../sites-available/${var.name}"
    notify = var.reload
  }
}

output "url" {
  value       = "https://${var.name}/"
  description = "Where the site answers."
}
