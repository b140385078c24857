# What the component is to do, tested in memory: tenet test NAME

case "the text is written" {
  vars = { text = "Welcome." }

  expect_apply {
    after {
      file "/etc/motd" {
        content = "Welcome.\n"
        mode    = "0644"
      }
    }
  }
}

case "an empty text is refused" {
  vars         = { text = " " }
  expect_error = "The text is empty"
}
