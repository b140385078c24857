case "the mirror takes the place of the distribution" {
  vars  = { url = "http://mirror.example.test/debian" }
  facts = { os = { codename = "trixie" } }
  machine {
    file "/etc/apt/sources.list.d/debian.sources" {
      content = "Types: deb\n"
    }
    command "mv" {
      argv    = ["mv", "-f", "/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list.d/debian.sources.disabled"]
      creates = { "/etc/apt/sources.list.d/debian.sources.disabled" = "Types: deb\n" }
      removes = ["/etc/apt/sources.list.d/debian.sources"]
    }
  }

  expect_apply {
    outcomes = {
      state.fetch.command.update                                                    = "changed"
      "state.distribution[\"/etc/apt/sources.list.d/debian.sources\"].command.move" = "changed"
      state.update.command.update                                                   = "changed"
    }
    after {
      file "/etc/apt/sources.list.d/mirror.sources" {
        contains = ["URIs: http://mirror.example.test/debian\nSuites: trixie trixie-updates\n", "Suites: trixie-security\n"]
      }
      file "/etc/apt/sources.list.d/debian.sources" {
        absent = true
      }
    }
  }
}

case "the mirror stands beside the distribution" {
  vars = { url = "file:///srv/packages", suites = ["./"], components = [], distribution = true }
  machine {
    file "/etc/apt/sources.list" {
      content = "deb http://mirror.example.test/debian bookworm main\n"
    }
  }

  expect_apply {
    after {
      file "/etc/apt/sources.list" {}
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
