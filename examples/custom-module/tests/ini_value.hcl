module "ini_value" {
  machine {
    file "/etc/app.ini" {
      content = "; the application\n[web]\nport = 80\n\n[log]\nlevel = warn\n"
    }
  }

  example "a new value" {
    path    = "/etc/app.ini"
    section = "web"
    name    = "host"
    value   = "localhost"

    changes {
      value = "example.test"
    }
  }

  example "a new section" {
    path    = "/etc/app.ini"
    section = "cache"
    name    = "size"
    value   = "10"

    changes {
      value = "20"
    }
  }
}
