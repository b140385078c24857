machine "debian" {
  package "openssl" {
    available = ["3.0.11-1"]
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "key", "/etc/ssl/ca/ca.key"]
    missing = "/etc/ssl/ca/ca.key"
    creates = { "/etc/ssl/ca/ca.key" = "k" }
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "key", "/etc/ssl/ca/web.key"]
    missing = "/etc/ssl/ca/web.key"
    creates = { "/etc/ssl/ca/web.key" = "k" }
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "authority", "/etc/ssl/ca", "3650"]
    creates = { "/etc/ssl/ca/ca.pem" = "c" }
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "sign", "/etc/ssl/ca", "web", "397"]
    creates = { "/etc/ssl/ca/web.pem" = "c" }
  }
  command "sh" {
    argv   = ["sh", "-c", "*", "current", "/etc/ssl/ca", "ca", "..."]
    exists = "/etc/ssl/ca/ca.pem"
  }
  command "sh" {
    argv   = ["sh", "-c", "*", "current", "/etc/ssl/ca", "web", "2592000"]
    exists = "/etc/ssl/ca/web.pem"
  }
  command "sh" {
    argv      = ["sh", "-c", "*", "current", "..."]
    exit_code = 1
  }
}

case "an authority and a certificate" {
  vars = {
    certificates = { web = { names = ["web.example.test", "192.0.2.10"] } }
  }
  machine {
    like = "debian"
  }

  expect_run {
    outputs = {
      authority = "/etc/ssl/ca/ca.pem"
      certificates = {
        web = { certificate = "/etc/ssl/ca/web.pem", chain = "/etc/ssl/ca/web.chain.pem", key = "/etc/ssl/ca/web.key" }
      }
    }
  }

  expect_apply {
    after {
      file "/etc/ssl/ca/web.cnf" {
        contains = ["commonName = web.example.test\n", "DNS.1 = web.example.test\n", "IP.1 = 192.0.2.10\n"]
      }
      file "/etc/ssl/ca/web.key" {
        mode = "0640"
      }
      link "/usr/local/share/ca-certificates/etc-ssl-ca.crt" {
        absent = true
      }
    }
  }
}

# No answer is described for making a key that is there: it would be a failure.
case "a key is never written over" {
  vars = {
    certificates = { web = { names = ["web.example.test"] } }
  }
  machine {
    like = "debian"
    file "/etc/ssl/ca/ca.key" {
      content = "of old"
    }
    file "/etc/ssl/ca/web.key" {
      content = "of old"
    }
  }

  expect_apply {
    outcomes = {
      state.authority.command.key           = "unchanged"
      state.authority.command.certificate   = "changed"
      state.certificate["web"].command.key  = "unchanged"
      state.certificate["web"].command.sign = "changed"
    }
    after {
      file "/etc/ssl/ca/ca.key" {
        content = "of old"
      }
      file "/etc/ssl/ca/web.key" {
        content = "of old"
      }
    }
  }
}
