machine "debian" {
  package "postgresql-15" {
    available = ["15.6-0"]
    services  = ["postgresql@15-main"]
    files = {
      "/etc/postgresql/15/main/postgresql.conf" = "", "/etc/postgresql/15/main/pg_hba.conf" = "",
      "/etc/postgresql/15/main/conf.d/.keep"    = ""
    }
  }
  user "postgres" {}
  command "sh" {
    argv = ["sh", "-c", "*", "accepted", "..."]
  }
  command "rm" {}
}

case "settings that need a restart get one" {
  vars = {
    settings = { work_mem = "8MB", max_connections = 200 }
  }
  machine {
    like = "debian"
  }

  expect_apply {
    outcomes = {
      state.reload.reload.server   = "changed"
      state.restart.restart.server = "changed"
    }
    after {
      file "/etc/postgresql/15/main/conf.d/50-tenet.conf" {
        contains = ["work_mem = '8MB'\n"]
        owner    = "postgres"
      }
      file "/etc/postgresql/15/main/conf.d/51-tenet-restart.conf" {
        contains = ["max_connections = '200'\n"]
      }
    }
  }
}

case "settings that the server refuses are not put in place" {
  vars = {
    settings = { work_mem = "much" }
  }
  machine {
    package "postgresql-15" {
      installed = true
      services  = ["postgresql@15-main"]
    }
    service "postgresql@15-main" {
      running = true
      enabled = true
    }
    file "/etc/postgresql/15/main/postgresql.conf" {}
    directory "/etc/postgresql/15/main/conf.d" {}
    user "postgres" {}
    command "sh" {
      argv      = ["sh", "-c", "*", "accepted", "..."]
      exit_code = 1
      stderr    = "invalid value for parameter \"work_mem\""
    }
  }

  expect_apply {
    failures = { state.settings.file.reload = "invalid value" }
    after {
      file "/etc/postgresql/15/main/conf.d/50-tenet.conf" {
        absent = true
      }
    }
  }
}

case "the version follows the release" {
  facts = { os = { codename = "noble" } }
  until = "run"

  expect_run {
    outputs = { cluster = "16/main", unit = "postgresql@16-main", configuration = "/etc/postgresql/16/main" }
  }
}

case "a release that is not known needs a version" {
  facts        = { os = { codename = "sid" } }
  expect_error = "Give the major version"
}
