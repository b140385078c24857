# Directories and file systems.

role "storage" {
  directory "data" {
    for_each = {
      "/srv/data"        = "0755"
      "/srv/data/import" = "0770"
      "/srv/data/export" = "0750"
      "/srv/backup"      = "0700"
    }
    path = each.key
    mode = each.value
  }

  mount "memory" {
    for_each = { "/srv/cache" = "64m", "/srv/sessions" = "16m" }
    path     = each.key
    source   = "tmpfs"
    fstype   = "tmpfs"
    options  = ["size=${each.value}", "nosuid", "nodev", "mode=0755"]
  }

  mount "exported" {
    path    = "/srv/public"
    source  = "/srv/data/export"
    options = ["bind", "ro"]
    require = [directory.data]
  }
}
