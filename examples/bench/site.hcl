# A test bench across three peers, which descriptors of openDuT tell of. The devices that
# hang on them are one network and one CAN bus, wherever they stand.

site {
  name = "lab"
}

inventory {
  opendut = "lab.yml"
}

# Where peers are reached stands in no descriptor.
host "edge1" {
  address = "192.0.2.31"
}

host "edge2" {
  address = "192.0.2.32"
}

host "edge3" {
  address = "192.0.2.33"
}

host_group "peers" {
  hosts  = "edge*"
  user   = "deploy"
  become = true
}

cluster "bench" {
  roles = ["peer"]
}

role "peer" {
  component "peer" {
    source = "std/peer"
    vars = {
      name        = host.name
      peer        = host.vars.peer
      devices     = host.vars.peer_devices
      cluster     = host.cluster
      addresses   = { for h in hosts("@bench") : h.name => h.address }
      with_can    = [for h in hosts("@bench") : h.name if h.labels.can == "true"]
      results_url = "https://results.example.com/bench/"
    }
  }
}
