# What the example is to do, tested without nginx and without root:
#
#     tenet test examples/nginx

locals {
  pem = "/etc/ssl/site/example.test.pem"
  key = "/etc/ssl/site/example.test.key"
}

# A machine as the README asks for it. Programs do nothing but what is said here.
machine "web" {
  package "nginx" {
    installed = "1.22.1-9"
    services  = ["nginx"]
    files     = { "/etc/nginx/sites-enabled/default" = "server {}\n" }
  }

  command "nginx" {
    argv    = ["nginx", "-t", "-q"]
    package = "nginx"
  }

  command "curl" {}

  command "openssl" {
    argv = ["openssl", "req", "-x509", "..."]
    creates = {
      (local.pem) = "certificate\n"
      (local.key) = "key\n"
    }
  }
}

case "a new machine gets a certificate" {
  description = "The plain site, a reload, the certificate, the site with TLS, a reload."

  machine {
    like = "web"
  }

  expect_run {
    invocations = [
      run.plain, "state.reload_nginx#1", state.certificate, run.secure, "state.reload_nginx#2",
    ]
  }

  expect_plan {
    # What follows a command is not certain.
    rows = {
      run.plain.file.conf                 = "create"
      "state.reload_nginx#1.reload.nginx" = "execute"
      state.certificate.command.issue     = "maybe execute"
      run.secure.file.conf                = "maybe update"
      "state.reload_nginx#2.reload.nginx" = "maybe execute"
    }
  }

  expect_apply {
    outcomes = {
      "state.reload_nginx#1.reload.nginx" = "changed"
      "state.reload_nginx#2.reload.nginx" = "changed"
    }

    after {
      file "/etc/nginx/sites-enabled/example.test" {
        contains = ["server_name example.test;", "listen 443 ssl;", local.pem]
        mode     = "0644"
      }
      service "nginx" {
        running = true
      }
    }
  }
}

case "a machine with a certificate stays encrypted" {
  machine {
    like = "web"
    file "/etc/ssl/site/example.test.pem" {
      content = "certificate\n"
    }
  }

  expect_plan {
    rows = {
      run.plain.file.conf             = "skipped"
      state.certificate.command.issue = "no change"
      run.secure.file.conf            = "create"
    }
  }
}

case "another domain" {
  vars = { domain = "www.example.org" }
  machine {
    like = "web"
  }
  until = "run"

  expect_run {
    parts = {
      run.plain.file.conf = {
        path     = "/etc/nginx/sites-enabled/www.example.org"
        validate = ["nginx", "-t", "-q"]
      }
    }
  }
}

case "a configuration that nginx refuses is taken back" {
  machine {
    like = "web"
    command "nginx" {
      argv      = ["nginx", "-t", "-q"]
      exit_code = 1
      stderr    = "unknown directive"
    }
  }

  expect_apply {
    failures = { run.plain.file.conf = "unknown directive" }
    after {
      file "/etc/nginx/sites-enabled/example.test" {
        absent = true
      }
    }
  }
}
