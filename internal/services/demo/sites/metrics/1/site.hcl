# Numbers of machines, for those who look after them. The platform team looks after it.

site {
  name = "metrics"
}

rollout {
  batch        = "100%"
  max_failures = 1
}

package "prometheus-node-exporter" {}

file "options" {
  path    = "/etc/default/prometheus-node-exporter"
  content = "ARGS=\"--collector.systemd\"\n"
  require = [package.prometheus-node-exporter]
  notify  = [restart.prometheus-node-exporter]
}

service "prometheus-node-exporter" {
  running = true
  enabled = true
  require = [package.prometheus-node-exporter]
}

restart "prometheus-node-exporter" {}
