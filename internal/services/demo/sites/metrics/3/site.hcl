# Numbers of machines, for those who look after them. The platform team looks after it.

site {
  name = "metrics"
}

# One machine after the other, with time to look at the graphs.
rollout {
  batch        = 1
  max_failures = 0
  pause        = "20s"
}

package "prometheus-node-exporter" {}

file "options" {
  path    = "/etc/default/prometheus-node-exporter"
  content = "ARGS=\"--collector.systemd --collector.processes\"\n"
  require = [package.prometheus-node-exporter]
  notify  = [restart.prometheus-node-exporter]
}

service "prometheus-node-exporter" {
  running = true
  enabled = true
  require = [package.prometheus-node-exporter]
}

restart "prometheus-node-exporter" {}
