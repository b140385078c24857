# A web server: nginx, and the shop's own service behind it.

role "web" {
  package "nginx" {}

  directory "shop" {
    path = "/srv/shop"
  }

  file "page" {
    path    = "/srv/shop/index.html"
    content = template("index.html.tmpl", { release = var.release, host = host.name })
    require = [directory.shop]
  }

  file "settings" {
    path    = "/etc/shop.ini"
    content = "release = ${var.release}\nworkers = 4\nlisten = 127.0.0.1:8080\n"
    mode    = "0640"
    notify  = [handler.restart]
  }

  file "server" {
    path     = "/etc/nginx/conf.d/shop.conf"
    source   = "nginx.conf"
    validate = ["nginx", "-t", "-q"]
    require  = [package.nginx]
    notify   = [reload.nginx]
  }

  systemd_unit "shop.service" {
    content = <<-END
      [Unit]
      Description=The shop
      After=network.target

      [Service]
      ExecStart=/usr/bin/shop serve
      Restart=on-failure

      [Install]
      WantedBy=multi-user.target
    END
    notify  = [handler.restart]
  }

  service "shop" {
    running = true
    enabled = true
    require = [systemd_unit["shop.service"], file.settings]
  }

  service "nginx" {
    running = true
    enabled = true
    require = [package.nginx]
  }

  reload "nginx" {}

  handler "restart" {
    follows = [service.shop]

    restart "shop" {}
  }
}
