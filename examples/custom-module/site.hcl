# A module of one's own: modules/ini_value.star.
variable "root" {
  type        = string
  default     = "/etc/app"
  description = "Directory of the application's configuration."
}

directory "conf" {
  path = var.root
}

state "settings" {
  require = [directory.conf]

  file "app" {
    path = "${var.root}/app.ini"
  }

  ini_value "port" {
    path    = "${var.root}/app.ini"
    section = "web"
    name    = "port"
    value   = "8080"
    notify  = [state.reread]
  }

  ini_value "level" {
    path    = "${var.root}/app.ini"
    section = "log"
    name    = "level"
    value   = "info"
  }
}

state "reread" {
  lazy = true
  print "reread" {
    message = "The application reads its configuration when it is started."
  }
}
