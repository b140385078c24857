# A web site that gets its certificate while it is being set up: publish it
# over http, reload nginx, obtain a certificate (the issuer wants to see the
# live site), publish it again with TLS, reload nginx again.
#
# No state is written twice. The five steps come out of what is declared here:
#
#     tenet compile examples/nginx
#
# nginx, openssl and curl are there already; README.md shows how tenet would
# install them.

variable "domain" {
  description = "The name that the site answers to."
  type        = string
  default     = "example.test"
}

locals {
  certificate = "/etc/ssl/site/${var.domain}.pem"
  key         = "/etc/ssl/site/${var.domain}.key"
}

state "vhost" {
  param "tls" {
    type    = bool
    default = false
  }

  file "conf" {
    path = "/etc/nginx/sites-enabled/${var.domain}"
    content = template("vhost.conf.tmpl", {
      domain      = var.domain
      tls         = param.tls
      certificate = local.certificate
      key         = local.key
    })
    validate = ["nginx", "-t", "-q"]
    notify   = [state.reload_nginx]
  }
}

# Runs only when notified: after run.plain, and again after run.secure.
state "reload_nginx" {
  lazy = true

  reload "nginx" {}
}

state "certificate" {
  # Waits for the reload too: a requirement has settled when the handlers that
  # it notified have ended.
  require = [run.plain]

  directory "certificates" {
    path = "/etc/ssl/site"
  }

  # What an issuer does first. A reload returns a moment before the new
  # configuration answers.
  command "challenge" {
    argv  = ["curl", "-fsS", "--resolve", "${var.domain}:80:127.0.0.1", "http://${var.domain}/"]
    retry = { attempts = 10, delay = "100ms" }

    unless {
      exists = local.certificate
    }
  }

  # In place of an issuer: a certificate signed by itself.
  command "issue" {
    argv = [
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "90",
      "-subj", "/CN=${var.domain}", "-addext", "subjectAltName=DNS:${var.domain}",
      "-keyout", local.key, "-out", local.certificate,
    ]
    creates = local.certificate
  }
}

# Once there is a certificate the site does not go back to plain http.
run "plain" {
  state = state.vhost

  unless {
    exists = local.certificate
  }
}

run "secure" {
  state   = state.vhost
  params  = { tls = true }
  require = [state.certificate]
}
