machine "debian" {
  package "nginx" {
    available = ["1.22.1-9"]
    services  = ["nginx"]
    files     = { "/etc/nginx/conf.d/.keep" = "" }
    links     = { "/etc/nginx/sites-enabled/default" = "../sites-available/default" }
  }
  package "openssl" {
    available = ["3.0.11-1"]
  }
  command "sh" {
    argv = ["sh", "-c", "*", "accepted", "*"]
  }
  command "sh" {
    argv = ["sh", "-c", "*", "pair", "*", "*"]
  }
  command "openssl" {
    argv    = ["openssl", "req", "..."]
    creates = { "/etc/ssl/sites/app.self-signed.pem" = "c", "/etc/ssl/sites/app.self-signed.key" = "k" }
    package = "openssl"
  }
  command "openssl" {
    argv    = ["openssl", "x509", "-checkend", "2592000", "..."]
    package = "openssl"
  }
}

case "a site over http" {
  vars = {
    sites = { "example.test" = { root = "/srv/www" } }
  }
  machine {
    like = "debian"
  }

  expect_apply {
    after {
      file "/etc/nginx/conf.d/example.test.conf" {
        contains = ["server_name example.test;", "root /srv/www;"]
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

case "a site with a certificate is published twice" {
  vars = {
    sites = { app = { proxy = "http://127.0.0.1:8080", tls = "self-signed" } }
  }
  machine {
    like = "debian"
  }

  expect_run {
    outputs = {
      urls         = { app = "https://app/" }
      certificates = { app = "/etc/ssl/sites/app.self-signed.pem" }
    }
  }

  expect_apply {
    outcomes = {
      run.plain["app"].file.site             = "changed"
      "state.reload#1.reload.nginx"          = "changed"
      state.certificate["app"].command.issue = "changed"
      run.secure["app"].file.site            = "changed"
      "state.reload#2.reload.nginx"          = "changed"
      state.renewal["app"].command.issue     = "skipped"
    }
  }
}

case "two kinds of one site" {
  vars = {
    sites = { app = { proxy = "http://127.0.0.1:8080", root = "/srv" } }
  }
  expect_error = "app: a site has one of root, proxy and redirect"
}
