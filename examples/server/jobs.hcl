# What runs by itself.

role "jobs" {
  cron "job" {
    for_each = {
      clean-import = { at = "15 3 * * *", command = "find /srv/data/import -type f -mtime +30 -delete" }
      disk-report  = { at = "0 7 * * mon", command = "df -h / | logger -t disk" }
      sync-backup  = { at = "30 4 * * *", command = "rsync -a --delete /srv/data/ /srv/backup/data/" }
    }
    name     = each.key
    schedule = each.value.at
    command  = each.value.command
    env      = { MAILTO = "" }
    require  = [package.basics["cron"], directory.data]
  }

  service "cron" {
    running = true
    enabled = true
    require = [package.basics["cron"]]
  }

  systemd_unit "app.service" {
    content = <<-END
      [Unit]
      Description=The application
      After=network.target

      [Service]
      ExecStart=/usr/local/bin/agent serve
      DynamicUser=yes
      Restart=on-failure

      [Install]
      WantedBy=multi-user.target
    END
    require = [download.agent]
    notify  = [restart.app]
  }

  service "app" {
    running = true
    enabled = true
    require = [systemd_unit["app.service"]]
  }

  restart "app" {}

  systemd_unit "less memory for cron" {
    name    = "cron.service"
    drop_in = "memory"
    content = "[Service]\nMemoryMax=200M\n"
  }

  systemd_timer "timer" {
    for_each = {
      certificates = { when = "daily", run = ["/usr/local/bin/agent", "certificates"] }
      inventory    = { when = "Mon 05:00", run = ["/usr/local/bin/agent", "inventory"] }
      heartbeat    = { when = "*:0/15", run = ["/usr/local/bin/agent", "heartbeat"] }
    }
    name        = each.key
    on_calendar = [each.value.when]
    command     = each.value.run
    persistent  = true
    require     = [download.agent]
  }
}
