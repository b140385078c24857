case "the mirror takes the place of the distribution" {
  vars  = { url = "http://mirror.example.test/debian" }
  facts = { os = { codename = "trixie" } }
  machine {
    directory "/etc/apt/apt.conf.d" {}
  }

  expect_apply {
    outcomes = { state.update.command.update = "changed" }
    after {
      file "/etc/apt/sources.list.d/mirror.sources" {
        contains = ["URIs: http://mirror.example.test/debian\nSuites: trixie trixie-updates\n", "Suites: trixie-security\n"]
      }
      file "/etc/apt/apt.conf.d/90mirror-only" {}
    }
  }
}

case "the mirror stands beside the distribution" {
  vars = { url = "file:///srv/packages", suites = ["./"], components = [], distribution = true }
  machine {
    directory "/etc/apt/apt.conf.d" {}
  }

  expect_apply {
    after {
      file "/etc/apt/apt.conf.d/90mirror-only" {
        absent = true
      }
    }
  }
}

case "ubuntu has other keys" {
  vars  = { url = "http://mirror.example.test/ubuntu" }
  facts = { os = { id = "ubuntu", codename = "noble" } }
  until = "run"

  expect_run {
    parts = { state.sources.file.sources = { path = "/etc/apt/sources.list.d/mirror.sources" } }
  }
}
