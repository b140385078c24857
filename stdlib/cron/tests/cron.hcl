machine "debian" {
  package "cron" {
    available = ["3.0pl1-162"]
    services  = ["cron"]
  }
  command "getent" {
    argv = ["getent", "passwd", "root"]
  }
  command "getent" {
    argv      = ["getent", "passwd", "*"]
    exit_code = 2
  }
}

case "a job" {
  vars = {
    jobs = {
      backup = { schedule = "30 2 * * mon", command = "/usr/local/bin/backup --name $(date +%F)" }
    }
  }
  machine {
    like = "debian"
  }

  expect_apply {
    after {
      file "/etc/cron.d/backup" {
        content = "# Kept by tenet.\n30 2 * * mon root /usr/local/bin/backup --name $(date +\\%F)\n"
        owner   = "root"
        mode    = "0644"
      }
      service "cron" {
        running = true
        enabled = true
      }
    }
  }
}

case "a job of nobody is not written" {
  vars = {
    jobs = { backup = { schedule = "@daily", command = "x", user = "nosuch" } }
  }
  machine {
    like = "debian"
  }

  expect_apply {
    failures = { state.job["backup"].command.user = "exit status 2" }
    after {
      file "/etc/cron.d/backup" {
        absent = true
      }
    }
  }
}

case "an hour that there is not" {
  vars = {
    jobs = { late = { schedule = "0 24 * * *", command = "x" } }
  }
  expect_error = "The schedule of late is none"
}
