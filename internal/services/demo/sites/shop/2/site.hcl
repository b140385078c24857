# The shop: proxies in front, web servers behind them, a database. The shop team looks after it.

site {
  name = "shop"
}

host_group "web" {
  hosts = ["web*"]
  roles = ["web"]
}

host_group "proxies" {
  hosts = ["lb*"]
  roles = ["proxy"]
}

host_group "databases" {
  hosts = ["db*"]
  roles = ["database"]
}

# Databases come first, then one web server and two at a time: people are buying meanwhile.
rollout {
  batch        = "100%"
  max_failures = 1
  pause        = "8s"

  stage "databases" {
    hosts = "@databases"
  }

  stage "web" {
    hosts = "@web"
    batch = [1, 2]
  }
}
