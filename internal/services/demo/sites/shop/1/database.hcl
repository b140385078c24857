# The database, and its backup at night.

role "database" {
  package "postgresql" {}

  file "settings" {
    path    = "/etc/postgresql/15/main/conf.d/shop.conf"
    content = "max_connections = 200\nwork_mem = 8MB\n"
    require = [package.postgresql]
    notify  = [reload.postgresql]
  }

  service "postgresql" {
    running = true
    enabled = true
    require = [package.postgresql]
  }

  reload "postgresql" {}

  directory "backup" {
    path = "/srv/backup"
    mode = "0750"
  }

  cron "backup" {
    schedule = "30 2 * * *"
    command  = "pg_dumpall -U postgres >/srv/backup/shop.sql"
    user     = "root"
  }
}
