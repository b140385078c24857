# What the site is to come to, without a machine:
#
#     tenet test examples/server

locals {
  debian = { init = "systemd", package_manager = "apt", os = { id = "debian", name = "Debian GNU/Linux" } }
}

case "who gets what" {
  facts = local.debian
  until = "run"

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
}

case "another domain" {
  vars  = { domain = "example.org" }
  facts = local.debian
  until = "run"

  expect_run {
    parts = {
      component.site["www"].state.site.symlink.enabled = {
        path   = "/etc/nginx/sites-enabled/www.example.org"
        target = "../sites-available/www.example.org"
      }
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
