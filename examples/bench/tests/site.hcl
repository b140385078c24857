# The peers, as they are declared and on simulated machines:
#
#     tenet test examples/bench

case "the leader has no CAN, and serves those that have" {
  host = "edge1"

  expect_run {
    parts = {
      component.peer.state.network.bridge_port.interface["491b2e83-bb23-4364-ac18-dcbec3b6f93e"] = { port = "dut0", bridge = "br-opendut" }
      component.peer.state.network.gre.tunnel["edge2"]                                           = { local = "192.0.2.31", remote = "192.0.2.32", frames = true }
      component.peer.state.network.gre.tunnel["edge3"]                                           = { remote = "192.0.2.33" }
      component.peer.state.network.interface.bridge                                              = { addresses = ["198.19.127.68/15"] }
      component.peer.state.reach.wait_for.member["edge2"]                                        = { ping = "198.18.29.147" }
      component.peer.state.can_over_ip.service.cannelloni["edge2"]                               = { running = true }
      component.peer.state.can_over_ip.service.cannelloni["edge3"]                               = { running = true }
    }
    without = [component.peer.state.executors]
  }
  until = "run"
}

case "a peer with CAN follows the leader" {
  host = "edge2"
  machine {
    file "/usr/bin/cangw" {
      mode = "0755"
    }
    file "/usr/bin/cannelloni" {
      mode = "0755"
    }
    package "can-utils" {
      installed = "2020.12.0-1"
    }
    port "198.19.127.68" {}  # edge1
    port "198.18.220.175" {} # edge3
  }

  expect_apply {
    outcomes = {
      component.peer.state.network.gre.tunnel["edge1"]                             = "changed"
      component.peer.state.can.can.virtual["7899dced-fcfa-46cd-b81d-3c215bc399d1"] = "changed"
      component.peer.state.reach.wait_for.member["edge1"]                          = "unchanged"
    }
    after {
      file "/etc/systemd/system/opendut-can-bee95ea8.service" {
        contains = ["-C c -L 192.0.2.32 -R 192.0.2.31 -r"]
      }
    }
  }
}

case "another peer does not answer" {
  host = "edge2"
  machine {
    file "/usr/bin/cangw" {
      mode = "0755"
    }
    file "/usr/bin/cannelloni" {
      mode = "0755"
    }
    package "can-utils" {
      installed = "2020.12.0-1"
    }
    port "198.19.127.68" {}
  }

  expect_apply {
    failures  = { component.peer.state.reach.wait_for.member["edge3"] = "198.18.220.175 answers an echo request" }
    converges = false
  }
}

case "a peer that carries out tests" {
  host = "edge3"

  expect_run {
    parts = {
      component.peer.state.executors.container.executor["6a0c4a4e-91c1-4e3a-9a44-5b0c0f8f7e77"] = {
        key         = "brake-test"
        command     = ["run-tests", "--all"]
        environment = { OPENDUT_RESULTS_URL = "https://results.example.com/bench/" }
      }
    }
  }
  until = "run"
}
