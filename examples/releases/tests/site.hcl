# Releases over time, on one simulated machine:
#
#     tenet test examples/releases

case "four releases, and the way back" {
  machine {
    like = "debian12-server"
  }

  step "the first one" {
    expect_apply {
      after {
        link "/srv/app/current" {
          target = "releases/1.0"
        }
        service "app" {
          running = true
          enabled = true
        }
      }
    }
  }

  step "another one: a switch and a restart" {
    vars = { version = "1.1" }

    expect_apply {
      changed = [archive.release, symlink.current, state.restart.restart.app]
    }
  }

  step "a third one" {
    vars = { version = "1.2" }
  }

  step "back: nothing is unpacked again" {
    vars = { version = "1.1" }

    expect_apply {
      changed = [symlink.current, state.restart.restart.app]
      after {
        link "/srv/app/current" {
          target = "releases/1.1"
        }
        directory "/srv/app/releases/1.2" {}
      }
    }
  }

  step "a fourth one: the first goes" {
    vars = { version = "1.3" }

    expect_apply {
      after {
        directory "/srv/app/releases/1.0" {
          absent = true
        }
        directory "/srv/app/releases/1.1" {}
        directory "/srv/app/releases/1.2" {}
        link "/srv/app/current" {
          target = "releases/1.3"
        }
      }
    }
  }
}

case "a release that there is none of" {
  vars         = { version = "9.9" }
  expect_error = "app-9.9.tar.gz"
}
