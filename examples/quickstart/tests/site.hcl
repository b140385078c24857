# What the quickstart is to do, tested in memory:
#
#     tenet test examples/quickstart

locals {
  dir = "/root/tenet-quickstart"
}

# The commands of the site, by what they leave behind.
machine "ready" {
  command "sh" {
    shell   = "sleep 1 && echo left > '${local.dir}/left'"
    creates = { "${local.dir}/left" = "left\n" }
  }
  command "sh" {
    shell   = "sleep 1 && echo right > '${local.dir}/right'"
    creates = { "${local.dir}/right" = "right\n" }
  }
  command "sh" {
    shell   = "cd '${local.dir}' && cksum < running.conf > app.key"
    creates = { "${local.dir}/app.key" = "4294967295 0\n" }
  }
  command "sh" {
    shell   = "cd '${local.dir}' && cp app.conf running.conf && echo started >> starts.log\n"
    creates = { "${local.dir}/starts.log" = "started\n" }
  }
}

case "the first apply" {
  host = "my-machine"
  machine {
    like = "ready"
  }

  expect_run {
    invocations = [
      directory.all, run.plain, "state.restart#1", state.register, run.registered, "state.restart#2",
      file.page, file.note["monday"], file.note["tuesday"], command.left, command.right,
    ]
    parts = {
      file.page            = { path = "${local.dir}/page.txt" }
      file.note["tuesday"] = { content = "Apply.\n" }
    }
  }

  expect_apply {
    after {
      file "/root/tenet-quickstart/page.txt" {
        contains = ["Hello from my-machine."]
      }
      file "/root/tenet-quickstart/app.conf" {
        content = <<-EOT
          greeting = Hello
          registered = true
        EOT
      }
    }
  }
}

case "another greeting changes two files, and restarts once" {
  vars = { greeting = "Welcome" }
  machine {
    like = "ready"
    directory "/root/tenet-quickstart" {}
    file "/root/tenet-quickstart/app.conf" {
      content = "greeting = Hello\nregistered = true\n"
    }
    file "/root/tenet-quickstart/app.key" {}
    file "/root/tenet-quickstart/left" {}
    file "/root/tenet-quickstart/right" {}
    file "/root/tenet-quickstart/monday.txt" {
      content = "Plan.\n"
    }
    file "/root/tenet-quickstart/tuesday.txt" {
      content = "Apply.\n"
    }
    file "/root/tenet-quickstart/page.txt" {
      content = template("../page.txt.tmpl", { greeting = "Hello", host = "machine" })
    }
  }

  expect_plan {
    changes = {
      run.registered.file.config      = "update"
      "state.restart#2.command.start" = "execute"
      file.page                       = "maybe update"
    }
  }
}

case "it goes where it is told" {
  vars  = { dir = "/srv/demo" }
  until = "plan"

  expect_plan {
    rows = { directory.all = "create", run.plain.file.config = "maybe create" }
  }
}
