locals {
  key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHexgb9aiHLxvHbJdmpHE5kGHJyQfEx0KqkLxLzzNkyu alice@laptop"
}

machine "debian" {
  package "sudo" {
    available = ["1.9.13p3-1"]
  }
  command "visudo" {
    argv    = ["visudo", "-c", "-q", "-f", "*"]
    package = "sudo"
  }
}

case "an account with a key and sudo" {
  vars = {
    users = { alice = { uid = 2001, groups = ["adm"], keys = [local.key], sudo = "NOPASSWD" } }
  }
  machine {
    like = "debian"
  }

  expect_apply {
    after {
      user "alice" {
        uid    = 2001
        groups = ["adm"]
        shell  = "/bin/bash"
      }
      file "/home/alice/.ssh/authorized_keys" {
        content = "${local.key}\n"
        owner   = "alice"
        mode    = "0600"
      }
      file "/etc/sudoers.d/alice" {
        contains = ["alice ALL=(ALL:ALL) NOPASSWD: ALL\n"]
        mode     = "0440"
      }
    }
  }
}

case "sudo rules that visudo refuses are not put in place" {
  vars = {
    users = { alice = { sudo = true } }
  }
  machine {
    package "sudo" {
      installed = true
    }
    command "visudo" {
      exit_code = 1
      stderr    = "syntax error"
    }
  }

  expect_apply {
    failures = { state.rights["alice"].file.sudoers = "syntax error" }
    after {
      file "/etc/sudoers.d/alice" {
        absent = true
      }
    }
  }
}

case "who has left has no way in" {
  vars = {
    users = { carol = { absent = true } }
  }
  machine {
    like = "debian"
    user "carol" {}
    file "/home/carol/.ssh/authorized_keys" {
      content = "x"
    }
    file "/home/carol/letter" {
      content = "x"
    }
  }

  expect_apply {
    after {
      user "carol" {
        absent = true
      }
      file "/home/carol/.ssh/authorized_keys" {
        absent = true
      }
      file "/home/carol/letter" {}
    }
  }
}

case "tenet is not shut out itself" {
  vars  = { users = { deploy = { sudo = "NOPASSWD" }, ci = { absent = true } } }
  facts = { login = "deploy" }

  expect_error = "tenet is logged in as deploy, and could not log in any more"
}
