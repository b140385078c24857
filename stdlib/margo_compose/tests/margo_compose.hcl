case "it is removed with its directory" {
  vars = { project = "shop-web", removed = true, program = ["podman", "compose"] }
  machine {
    file "/var/lib/margo/shop-web/app/compose.yaml" {
      content = "services: {}\n"
    }
    command "sh" {
      argv    = ["sh", "-c", "*", "compose", "down", "podman", "shop-web", "/var/lib/margo/shop-web", "podman", "compose"]
      creates = { "/down" = "x" }
    }
  }

  expect_apply {
    outcomes = {
      "state.down.command.down" = "changed"
    }
    after {
      file "/down" {
        content = "x"
      }
      file "/var/lib/margo/shop-web/app/compose.yaml" {
        absent = true
      }
    }
  }
}

case "what is not there is removed without its program" {
  vars = { project = "shop-web", removed = true }

  expect_apply {
    outcomes = {
      "state.down.command.down" = "skipped"
    }
  }
}

case "a package has a checksum" {
  vars         = { project = "shop", package = "/p.tar.gz" }
  expect_error = ["A checksum is sha256"]
}

case "a project is a name" {
  vars         = { project = "../shop", removed = true }
  expect_error = ["A project has lower case letters", "not the shortest form"]
}

case "a variable is not one of Compose" {
  vars         = { project = "shop", removed = true, environment = { COMPOSE_FILE = "/etc/x" } }
  expect_error = ["none by which Compose"]
}

case "a variable is not one by which programs run" {
  vars         = { project = "shop", removed = true, environment = { PATH = "/tmp" } }
  expect_error = ["none by which Compose"]
}

case "a program is not anything" {
  vars         = { project = "shop", removed = true, program = ["sh"] }
  expect_error = ["The program is docker"]
}
