# The database, with its copies.

role "database" {
  component "database" {
    source = "std/postgresql"
    vars = {
      settings  = { work_mem = "8MB", max_connections = "200" }
      roles     = { shop = {} }
      databases = { shop = { owner = "shop" } }
    }
  }

  directory "/srv/backup" {
    mode = "0750"
  }

  file "/usr/local/bin/backup" {
    source = "files/backup"
    mode   = "0755"
  }

  component "jobs" {
    source = "std/cron"
    vars = {
      jobs = {
        backup = {
          schedule = "30 2 * * *"
          command  = "/usr/local/bin/backup"
        }
      }
    }
  }
}
