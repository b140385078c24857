# The application: an account, its files and its service.

role "app" {
  package "python3" {}

  user "shop" {
    system = true
    home   = "/srv/shop"
  }

  directory "/srv/shop" {
    owner = "shop"
    group = "shop"
  }

  file "/srv/shop/shop.py" {
    source = "files/shop.py"
    mode   = "0755"
    notify = [state.restart]
  }

  file "/etc/shop.ini" {
    content = "version = ${var.version}\ndatabase = ${hosts("db*")[0].address}\n"
    group   = "shop"
    mode    = "0640"
    notify  = [state.restart]
  }

  systemd_unit "shop.service" {
    content = <<-END
      [Unit]
      Description=The shop
      After=network.target

      [Service]
      User=shop
      ExecStart=/usr/bin/python3 /srv/shop/shop.py

      [Install]
      WantedBy=multi-user.target
    END
    notify  = [state.restart]
  }

  service "shop" {
    running = true
    enabled = true
    require = [package.python3, file["/srv/shop/shop.py"], file["/etc/shop.ini"]]
  }

  handler "restart" {
    follows = [service.shop]

    restart "shop" {}
  }

  sudoers "shop" {
    users    = ["shop"]
    commands = ["/usr/bin/systemctl restart shop"]
    nopasswd = true
    require  = [component.people]
  }

  component "jobs" {
    source  = "std/cron"
    require = [user.shop]
    vars = {
      jobs = {
        tidy = {
          schedule = "15 4 * * *"
          command  = "find /srv/shop/tmp -mtime +7 -delete"
          user     = "shop"
        }
      }
    }
  }
}
