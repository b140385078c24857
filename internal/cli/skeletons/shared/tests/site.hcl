# What the site is to do, tested in memory: tenet test. docs/testing.md tells what
# else a case may say.

case "the first apply" {
  host = "my-machine"
  vars = { dir = "/srv/example" }

  expect_apply {
    after {
      file "/srv/example/index.html" {
        contains = ["Welcome from my-machine."]
      }
      file "/srv/example/tuesday.txt" {
        content = "Apply.\n"
      }
    }
  }
}

case "a page that is there changes" {
  vars = { dir = "/srv/example" }
  machine {
    directory "/srv/example" {}
    file "/srv/example/index.html" {
      content = "old"
    }
  }

  expect_plan {
    changes = {
      file.page            = "update"
      file.note["monday"]  = "create"
      file.note["tuesday"] = "create"
    }
  }
}

case "a greeting is needed" {
  vars         = { greeting = "" }
  expect_error = "The greeting is empty"
}
