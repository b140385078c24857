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

rollout {
  batch        = "100%"
  max_failures = 1
}
