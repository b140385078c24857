# The whole site, on a simulated machine, but for what that cannot have: network devices and
# a repository of git.
#
#     tenet test examples/server

locals {
  debian = { init = "systemd", package_manager = "apt", os = { id = "debian", name = "Debian GNU/Linux" } }
}

machine "bare" {
  like = "debian12-server"

  file "/usr/share/keyrings/debian-archive-keyring.gpg" {}
  directory "/usr/local/share/ca-certificates" {}

  answer "http://mirror.example.test/agent" {
    body = read("../mirror/agent")
  }

  # nginx, which answers for all sites alike.
  port "127.0.0.1:443" {}
  answer "https://127.0.0.1/" {
    body = "Welcome to www, Welcome to docs, Welcome to shop, Welcome to status"
  }
}

case "who gets what" {
  exclude = [bridge.br0, bridge_port.port, interface.ports, git.handbook]
  machine {
    like = "bare"
  }

  expect_run {
    parts = {
      state.person["alice"].user.account = {
        uid    = 3001
        groups = ["admins", "adm", "developers"]
      }
      state.person["carol"].user.account = {
        groups = ["developers"]
      }
      component.site["shop"].state.site.certificate.certificate = {
        path  = "/etc/ssl/server/shop.example.test.pem"
        names = ["shop.example.test"]
      }
    }
  }

  expect_apply {
    after {
      user "alice" {
        uid    = 3001
        groups = ["admins", "adm", "developers"]
        shell  = "/bin/bash"
      }
      file "/etc/ssl/server/shop.example.test.pem" {
        matches = "BEGIN CERTIFICATE"
      }
      file "/srv/www/docs.example.test/manual/index.md" {
        owner = "www-data"
        mode  = "0640"
      }
      link "/etc/nginx/sites-enabled/default" {
        absent = true
      }
      service "nginx" {
        running = true
        enabled = true
      }
    }
  }
}

case "another domain" {
  vars    = { domain = "example.org" }
  exclude = [bridge.br0, bridge_port.port, interface.ports, git.handbook]
  machine {
    like = "bare"
  }

  expect_run {
    parts = {
      component.site["www"].state.site.symlink.enabled = {
        path   = "/etc/nginx/sites-enabled/www.example.org"
        target = "../sites-available/www.example.org"
      }
    }
  }

  expect_apply {
    after {
      link "/etc/nginx/sites-enabled/www.example.org" {
        target = "../sites-available/www.example.org"
      }
      file "/etc/ssl/server/www.example.org.pem" {}
    }
  }
}

case "somebody without a key" {
  vars         = { keys = { alice = null } }
  facts        = local.debian
  expect_error = "key"
}

case "a mirror that is no URL" {
  vars         = { mirror = "mirror.example.test" }
  facts        = local.debian
  expect_error = ["The mirror is a URL with http or https.", "is no UR[IL]|names no repository"]
}
