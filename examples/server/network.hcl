# A bridge for what is to be tested, with two ports of its own.

role "network" {
  bridge "br0" {
    stp           = true
    forward_delay = "2s"
    mac           = "02:00:00:00:77:01"
  }

  bridge_port "port" {
    for_each = ["eth1", "eth2"]
    port     = each.key
    bridge   = "br0"
    require  = [bridge.br0]
  }

  interface "ports" {
    for_each = ["eth1", "eth2"]
    name     = each.key
    up       = true
    mtu      = 1400
  }

  interface "br0" {
    up        = true
    addresses = ["192.0.2.1/24", "2001:db8:77::1/64"]
    # A bridge has the smallest MTU of its ports.
    require = [bridge_port.port, interface.ports]
  }
}
