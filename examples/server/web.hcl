# nginx with a certificate for each site, signed by an authority of our own.

role "web" {
  vars = {
    sites = ["www", "docs", "shop", "status"]
  }

  locals {
    tls = "/etc/ssl/server"
  }

  package "nginx" {
    require = [apt_repository.company]
  }

  state "authority" {
    directory "certificates" {
      path = local.tls
    }

    certificate "ca" {
      path        = "${local.tls}/ca.pem"
      private_key = "${local.tls}/ca.key"
      common_name = "Authority of ${var.domain}"
      authority   = true
      names       = []
      days        = 3650
    }

    symlink "trusted" {
      path   = "/usr/local/share/ca-certificates/server.crt"
      target = "${local.tls}/ca.pem"
    }
  }

  # The distribution's own site gives way to ours.
  symlink "default site" {
    path    = "/etc/nginx/sites-enabled/default"
    ensure  = "absent"
    require = [package.nginx]
    notify  = [reload.nginx]
  }

  file "limits of requests" {
    path     = "/etc/nginx/conf.d/limits.conf"
    content  = "client_max_body_size 20m;\nserver_tokens off;\n"
    validate = ["nginx", "-t", "-q"]
    require  = [package.nginx]
    notify   = [reload.nginx]
  }

  component "site" {
    source   = "./components/site"
    for_each = toset(var.sites)
    require  = [package.nginx, state.authority]
    vars = {
      name   = "${each.key}.${var.domain}"
      tls    = local.tls
      reload = [reload.nginx]
    }
  }

  # Written by many, and checked out from where they write it.
  git "handbook" {
    path    = "/srv/www/handbook"
    url     = "${var.mirror}/handbook.git"
    ref     = "main"
    require = [package.basics["git"], component.site]
  }

  tree "manual" {
    path      = "/srv/www/docs.${var.domain}/manual"
    source    = "files/manual"
    owner     = "www-data"
    file_mode = "0640"
    dir_mode  = "0750"
    purge     = true
    require   = [component.site]
  }

  archive "theme" {
    path      = "/srv/www/status.${var.domain}/theme"
    source    = "files/theme.tar.gz"
    checksum  = "sha256:f81770ce04da250685c905194e6cef390cb3e8460838c88a700818901be59d59"
    strip     = 1
    exclude   = ["README"]
    owner     = "www-data"
    file_mode = "0644"
    require   = [component.site]
  }

  service "nginx" {
    running = true
    enabled = true
    require = [package.nginx]
  }

  reload "nginx" {}

  # Sites answer once nginx has been reloaded.
  state "answers" {
    require = [component.site, service.nginx]

    wait_for "https" {
      port   = 443
      within = "30s"
    }

    http "sites" {
      for_each = toset(var.sites)
      url      = "https://127.0.0.1/"
      headers  = { Host = "${each.key}.${var.domain}" }
      ca       = "${local.tls}/ca.pem"
      matches  = "Welcome to ${each.key}"
    }
  }
}
