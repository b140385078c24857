case "the message of the day" {
  vars = { text = "Welcome.", banner = "Authorised use only.\n" }

  expect_apply {
    after {
      file "/etc/motd" {
        content = "Welcome.\n"
        mode    = "0644"
      }
      file "/etc/issue" {
        content = "Authorised use only.\n"
      }
    }
  }
}

case "a piece beside others" {
  vars = { name = "maintenance", text = "Down on Sunday.\n" }
  machine {
    file "/etc/motd" {
      content = "Mine.\n"
    }
  }

  expect_apply {
    after {
      file "/etc/motd.d/maintenance" {
        content = "Down on Sunday.\n"
      }
      file "/etc/motd" {
        content = "Mine.\n"
      }
    }
  }
}

case "a name is no path" {
  vars         = { name = "../cron.d/x", text = "x" }
  expect_error = ["A name has letters, digits", "not the shortest form"]
}
