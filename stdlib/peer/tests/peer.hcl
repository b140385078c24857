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
    port "198.18.29.147" {} # edge2 answers
  }

  expect_apply {
    outcomes = { state.reach.wait_for.member["edge2"] = "unchanged" }
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

case "a leader without CAN serves the members that have it" {
  vars = {
    name      = "edge1"
    cluster   = { name = "bench", leader = "edge1", members = ["edge1", "edge2", "edge3", "edge4"] }
    addresses = { edge1 = "192.0.2.1", edge2 = "192.0.2.2", edge3 = "192.0.2.3", edge4 = "192.0.2.4" }
    checks    = "none"
    peer      = {}
    with_can  = ["edge2", "edge3"]
  }
  machine {
    file "/usr/bin/cannelloni" {
      mode = "0755"
    }
  }

  expect_apply {
    outcomes = {
      state.can.can.bus = "changed"
    }
    after {
      service "opendut-can-bee95ea8" {
        running = true
      }
      service "opendut-can-05aed700" {
        running = true
      }
      file "/etc/systemd/system/opendut-can-bee95ea8.service" {
        contains = ["-C s -L 192.0.2.1 -R 192.0.2.2 -l"]
      }
      file "/etc/systemd/system/opendut-can-651bbd6d.service" {
        absent = true
      }
    }
  }
}

case "nobody else has CAN" {
  vars = {
    name      = "edge2"
    install   = false
    cluster   = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    addresses = { edge1 = "192.0.2.1", edge2 = "192.0.2.2" }
    checks    = "none"
    peer = {
      network  = { interfaces = [{ id = "i2", name = "vcan0", kind = "vCAN" }, { id = "i3", name = "vcan1", kind = "vCAN" }] }
      topology = { devices = [{ id = "d2", "interface-id" = "i2" }, { id = "d3", "interface-id" = "i3" }] }
    }
    with_can = ["edge2"]
  }
  machine {
    file "/usr/bin/cangw" {
      mode = "0755"
    }
  }

  expect_run {
    without = [state.can_over_ip]
  }
  expect_apply {
    after {
      file "/etc/systemd/system/opendut-can-routes.service" {
        contains = ["-A -s vcan0 -d br-vcan -e -l 1", "-A -s vcan0 -d vcan1 -e -l 1", "-A -s vcan1 -d vcan0 -e -l 1"]
      }
    }
  }
}

case "a member that does not answer is told of, and all else is done" {
  vars = {
    name      = "edge1"
    cluster   = { name = "bench", leader = "edge1", members = ["edge1", "edge2", "edge3"] }
    addresses = { edge1 = "192.0.2.1", edge2 = "192.0.2.2", edge3 = "192.0.2.3" }
    peer      = {}
  }
  machine {
    port "198.18.29.147" {}
  }

  expect_apply {
    outcomes = {
      state.reach.wait_for.member["edge2"] = "unchanged"
      state.network.gre.tunnel["edge3"]    = "changed"
    }
    failures  = { state.reach.wait_for.member["edge3"] = "answers an echo request" }
    converges = false
  }
}

case "addresses of their own in another network" {
  vars = {
    name         = "edge1"
    cluster      = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    addresses    = { edge1 = "192.0.2.1", edge2 = "192.0.2.2" }
    tunnel_range = "fd00:1::/64"
    checks       = "none"
    peer         = {}
  }
  until = "run"

  expect_run {
    parts = {
      state.network.interface.bridge = { addresses = ["fd00:1::34ba:ca8c/64"] }
    }
    outputs = { address = "fd00:1::34ba:ca8c", network = "br-opendut" }
  }
}

case "without a range there are no addresses, and nobody is asked" {
  vars = {
    name         = "edge1"
    cluster      = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    addresses    = { edge1 = "192.0.2.1", edge2 = "192.0.2.2" }
    tunnel_range = null
    peer         = {}
  }

  expect_run {
    without = [state.reach]
  }
  expect_apply {
    changed = [state.network.bridge.bridge, state.network.gre.tunnel["edge2"], state.network.bridge_port.tunnel["edge2"]]
  }
}

case "a network without places" {
  vars = {
    name         = "edge1"
    cluster      = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    addresses    = { edge1 = "192.0.2.1", edge2 = "192.0.2.2" }
    tunnel_range = "192.0.2.0/31"
    peer         = {}
  }
  expect_error = ["places for at least two hosts"]
}

case "a network in which two have the same place" {
  vars = {
    name         = "edge1"
    cluster      = { name = "bench", leader = "edge1", members = ["edge1", "edge2", "edge3"] }
    addresses    = { edge1 = "192.0.2.1", edge2 = "192.0.2.2", edge3 = "192.0.2.3" }
    tunnel_range = "192.0.2.0/30"
    peer         = {}
  }
  expect_error = ["the same address of their own"]
}

case "an executor that is no container" {
  vars = {
    name = "edge1"
    peer = { executors = [{ id = "e1", kind = "executable" }] }
  }
  expect_error = ["Executors are containers"]
}

case "executors put their results where the descriptor says, or else the site" {
  vars = {
    name        = "edge1"
    results_url = "https://results.example.com/site/"
    peer = {
      executors = [
        {
          id   = "e1"
          kind = "container"
          parameters = {
            image = "localhost/nmap", name = "scan", engine = "podman", command = "nmap", args = ["-A", "192.0.2.9"]
            envs  = [{ name = "LEVEL", value = 4 }], "results-url" = "https://results.example.com/own/"
          }
        },
        { id = "e2", kind = "Container", parameters = { image = "localhost/other" } },
      ]
    }
  }
  until = "run"

  expect_run {
    parts = {
      state.executors.container.executor["e1"] = {
        key         = "scan"
        engine      = "podman"
        image       = "localhost/nmap"
        command     = ["nmap", "-A", "192.0.2.9"]
        environment = { LEVEL = "4", OPENDUT_RESULTS_URL = "https://results.example.com/own/" }
      }
      state.executors.container.executor["e2"] = {
        key         = "opendut-e2"
        image       = "localhost/other"
        network     = "host"
        environment = { OPENDUT_RESULTS_URL = "https://results.example.com/site/" }
      }
    }
  }
}

case "bridges that something else joins" {
  vars = {
    name    = "edge1"
    cluster = { name = "bench", leader = "edge1", members = ["edge1", "edge2"] }
    tunnels = false
    peer    = {}
  }
  machine {
    port "198.18.29.147" {}
  }

  expect_apply {
    changed = [state.network.bridge.bridge, state.network.interface.bridge]
  }
}
