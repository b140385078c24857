# What the hosts get, without them:
#
#     tenet test examples/tiers

case "the proxy" {
  host  = "proxy1"
  until = "plan"

  machine {
    like = "debian12-server"
  }

  expect_plan {
    rows = {
      file["/etc/motd"]                                      = "create"
      component.web.run.plain["shop.example.test"].file.site = "maybe create"
      component.people.state.account["ada"].user.account     = "create"
    }
  }
}

case "the application" {
  host  = "app1"
  until = "run"

  expect_run {
    parts = {
      file["/etc/shop.ini"] = {
        content = "version = 1.4.0\ndatabase = 192.0.2.21\n"
      }
    }
  }
}
