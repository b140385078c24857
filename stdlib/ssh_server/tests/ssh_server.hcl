locals {
  conf = "/etc/ssh/sshd_config.d/00-tenet.conf"
}

machine "debian" {
  package "openssh-server" {
    available = ["1:9.2p1-2"]
    services  = ["ssh"]
    files     = { "/etc/ssh/sshd_config" = "Include /etc/ssh/sshd_config.d/*.conf\n", "/etc/ssh/sshd_config.d/.keep" = "" }
  }
  command "ssh-keyscan" {
    package = "openssh-server"
  }
  command "rm" {}
  command "sh" {
    argv = ["sh", "-c", "*", "accepted", "..."]
  }
}

case "passwords are turned off where somebody has a key" {
  machine {
    like = "debian"
    command "sh" {
      argv = ["sh", "-c", "*", "way_in", "prohibit-password", "", "", "", "here", "key"]
    }
  }

  expect_apply {
    outcomes = {
      state.activate.reload.ssh      = "changed"
      state.activate.command.answers = "changed"
      state.restore.command.settings = "idle"
    }
    after {
      file "/etc/ssh/sshd_config.d/00-tenet.conf" {
        contains = ["PasswordAuthentication no\n", "PermitRootLogin prohibit-password\n", "MaxAuthTries 4\n"]
      }
      service "ssh" {
        running = true
        enabled = true
      }
    }
  }
}

case "nobody is locked out" {
  vars = { allow_users = ["alice"], allow_groups = ["adm"] }
  machine {
    like = "debian"
    command "sh" {
      argv      = ["sh", "-c", "*", "way_in", "prohibit-password", "alice", "adm", "", "here", "key"]
      exit_code = 1
      stderr    = "nobody could log in"
    }
  }

  expect_apply {
    failures = { state.way_in.command.key = "nobody could log in" }
    after {
      file "/etc/ssh/sshd_config.d/00-tenet.conf" {
        absent = true
      }
    }
  }
}

case "a server that does not answer gets its former settings back" {
  vars = { allow_lockout = true }
  machine {
    package "openssh-server" {
      installed = true
      services  = ["ssh"]
      files     = { "/etc/ssh/sshd_config.d/.keep" = "" }
    }
    service "ssh" {
      running = true
      enabled = true
    }
    directory "/etc/ssh/sshd_config.d" {}
    command "sh" {
      argv = ["sh", "-c", "*", "accepted", "..."]
    }
    command "ssh-keyscan" {
      exit_code = 1
      stderr    = "Connection refused"
    }
    command "sh" {
      argv    = ["sh", "-c", "*", "restore", local.conf]
      removes = [local.conf]
    }
  }

  expect_apply {
    failures = { state.activate.command.answers = "Connection refused" }
    outcomes = { state.restore.command.settings = "changed" }
    after {
      file "/etc/ssh/sshd_config.d/00-tenet.conf" {
        absent = true
      }
    }
  }
}

case "with passwords no key is asked for" {
  vars  = { password_authentication = true, permit_root_login = "yes", ports = [2222] }
  until = "run"

  expect_run {
    without = [state.way_in]
    outputs = { ports = [2222] }
  }
}

case "tenet is not shut out itself" {
  vars  = { permit_root_login = "no", allow_users = ["alice"] }
  facts = { login = "root" }
  machine {
    like = "debian"
    command "sh" {
      argv      = ["sh", "-c", "*", "way_in", "no", "alice", "", "root", "here", "key"]
      exit_code = 1
      stderr    = "tenet, which is logged in as root, could not log in any more"
    }
  }

  expect_apply {
    failures = { state.way_in.command.key = "could not log in any more" }
    after {
      file "/etc/ssh/sshd_config.d/00-tenet.conf" {
        absent = true
      }
    }
  }
}

case "tenet comes as another account from now on" {
  vars  = { password_authentication = true, permit_root_login = "no", login = "deploy" }
  facts = { login = "root" }
  machine {
    like = "debian"
    command "sh" {
      argv = ["sh", "-c", "*", "way_in", "no", "", "", "deploy", "new", "password"]
    }
  }

  expect_apply {
    outcomes = { state.activate.reload.ssh = "changed" }
  }
}
