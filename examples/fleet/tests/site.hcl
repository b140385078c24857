# What the hosts get, without them:
#
#     tenet test examples/fleet

machine "lb" {
  like = "debian12-server"
  command "/usr/local/sbin/lbctl" {
    argv    = ["/usr/local/sbin/lbctl", "render"]
    creates = { "/etc/lb/upstream" = "" }
  }
  command "/usr/local/sbin/lbctl" {
    argv    = ["/usr/local/sbin/lbctl", "drain", "*"]
    creates = { "/etc/lb/drained/{2}" = "" }
  }
  command "/usr/local/sbin/lbctl" {
    argv    = ["/usr/local/sbin/lbctl", "enable", "*"]
    removes = ["/etc/lb/drained/{2}"]
  }
  command "/usr/local/sbin/lbctl" {
    argv = ["/usr/local/sbin/lbctl", "enable"]
  }
}

case "one web server after the other" {
  machine "lb1" {
    like = "lb"
  }
  machine "web1" {
    like = "debian12-server"
  }
  machine "web2" {
    like = "debian12-server"
  }
  machine "db1" {
    like = "debian12-server"
  }

  step "the first apply" {
    expect_rollout {
      turns = [
        "db1",
        "lb1",
        "lb1 state.drain", "web1", "lb1 state.undrain",
        "lb1 state.drain", "web2", "lb1 state.undrain",
      ]
    }
    expect_apply {
      host = "web2"
      after {
        file "/var/www/html/index.html" {
          content = "green, from web2, with the data of 192.0.2.11\n"
        }
        service "nginx" {
          running = true
        }
      }
    }
    expect_apply {
      host = "db1"
      after {
        service "postgresql" {
          running = true
        }
      }
    }
    expect_apply {
      host = "lb1"
      after {
        file "/etc/lb/servers" {
          content = "web1 192.0.2.1\nweb2 192.0.2.2\n"
        }
        file "/etc/lb/drained/web1" {
          absent = true
        }
        file "/etc/lb/drained/web2" {
          absent = true
        }
      }
    }
  }

  step "another color" {
    vars = { color = "red" }

    expect_plan {
      host    = "web1"
      changes = { file["/var/www/html/index.html"] = "update" }
    }
    expect_rollout {
      turns = [
        "db1",
        "lb1",
        "lb1 state.drain", "web1", "lb1 state.undrain",
        "lb1 state.drain", "web2", "lb1 state.undrain",
      ]
    }
  }

  step "nothing new: nobody is drained" {
    vars = { color = "red" }

    expect_rollout {
      turns = ["db1", "lb1"]
    }
  }
}

case "a web server that fails stays out" {
  machine "lb1" {
    like = "lb"
  }
  machine "web1" {
    like = "minimal"
    apt  = false
  }
  machine "web2" {
    like = "debian12-server"
  }
  machine "db1" {
    like = "debian12-server"
  }

  expect_apply {
    host     = "web1"
    failures = { package.nginx = "package" }
  }
  expect_rollout {
    turns = ["db1", "lb1", "lb1 state.drain", "web1", "lb1 state.undrain"]
  }
  expect_apply {
    host = "lb1"
    after {
      file "/etc/lb/drained/web1" {}
    }
  }
}
