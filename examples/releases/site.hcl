# A program in releases: each in a folder of its own, and a link to the one that runs. Another
# version is a switch of the link and a restart; so is the way back.

site {
  name = "releases"
}

variable "version" {
  description = "The release that runs. To go back, name the one before."
  type        = string
  default     = "1.0"
}

user "app" {
  system = true
  home   = "/srv/app"
}

directory "releases" {
  path    = "/srv/app/releases"
  parents = true
}

# The three that were wanted last stay, for the way back; older ones go.
archive "release" {
  path    = "/srv/app/releases/${var.version}"
  source  = "archives/app-${var.version}.tar.gz"
  strip   = 1
  retain  = 3
  require = [directory.releases]
  notify  = [handler.restart]
}

symlink "current" {
  path    = "/srv/app/current"
  target  = "releases/${var.version}"
  require = [archive.release]
  notify  = [handler.restart]
}

systemd_unit "app.service" {
  content = <<-END
    [Unit]
    Description=The app

    [Service]
    User=app
    ExecStart=/srv/app/current/bin/app

    [Install]
    WantedBy=multi-user.target
  END
  require = [user.app]
  notify  = [handler.restart]
}

# Three may ask for a restart. It comes after the switch, and once.
handler "restart" {
  follows = [symlink.current, systemd_unit["app.service"]]

  restart "app" {}
}

service "app" {
  running = true
  enabled = true
  require = [symlink.current, systemd_unit["app.service"]]
}
