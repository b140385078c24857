case "a leader serves CAN over IP" {
  vars = {
    name      = "edge1"
    cluster   = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    addresses = { edge1 = "192.0.2.1", edge2 = "192.0.2.2" }
    install   = false
    peer = {
      network  = { interfaces = [{ id = "i2", name = "vcan0", kind = "vCAN" }] }
      topology = { devices = [{ id = "d2", name = "ecu", "interface-id" = "i2" }] }
    }
  }
  machine {
    file "/usr/bin/cannelloni" {
      mode = "0755"
    }
    file "/usr/bin/cangw" {
      mode = "0755"
    }
  }

  expect_apply {
    after {
      service "opendut-can-routes" {
        running = true
        enabled = true
      }
      service "opendut-can-bee95ea8" {
        running = true
        enabled = true
      }
    }
  }
}

case "with manage_network = false nothing of the network is made" {
  vars = {
    name           = "edge1"
    cluster        = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    manage_network = false
    peer = {
      network  = { interfaces = [{ id = "i1", name = "eth9", kind = "Ethernet" }, { id = "i2", name = "can9", kind = "CAN" }] }
      topology = { devices = [{ id = "d1", "interface-id" = "i1" }, { id = "d2", "interface-id" = "i2" }] }
    }
  }

  expect_apply {
    changed = []
  }
}

case "without a cluster, interfaces without devices are left alone" {
  vars = {
    name    = "edge1"
    install = false
    peer = {
      network = {
        interfaces = [
          { id = "i1", name = "eth9", kind = "Ethernet" },
          { id = "i2", name = "can9", kind = "CAN" },
        ]
      }
      topology = { devices = [{ id = "d1", "interface-id" = "i1" }] }
    }
  }

  expect_apply {
    changed = []
  }
}

case "no address of a member" {
  vars = {
    name      = "edge1"
    cluster   = { name = "bench", leader = null, members = ["edge1", "edge2"] }
    addresses = { edge1 = "192.0.2.1" }
    peer      = {}
  }
  expect_error = ["No address is known of edge2"]
}
