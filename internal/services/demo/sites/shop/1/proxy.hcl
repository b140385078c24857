# A proxy: it knows all web servers.

role "proxy" {
  package "haproxy" {}

  file "proxy" {
    path     = "/etc/haproxy/haproxy.cfg"
    content  = template("haproxy.cfg.tmpl", { servers = [for h in hosts("web*") : h.name] })
    validate = ["haproxy", "-c", "-f", "%s"]
    require  = [package.haproxy]
    notify   = [reload.haproxy]
  }

  service "haproxy" {
    running = true
    enabled = true
    require = [package.haproxy]
  }

  reload "haproxy" {}
}
