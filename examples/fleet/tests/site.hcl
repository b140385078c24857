# What the hosts get, without them:
#
#     tenet test examples/fleet

case "a web server" {
  host  = "web2"
  until = "run"

  expect_run {
    parts = {
      file["/var/www/html/index.html"] = {
        content = "green, from web2, with the data of 192.0.2.11\n"
      }
      service.nginx = {
        running = true
      }
    }
  }
}

case "the database" {
  host  = "db1"
  until = "run"

  expect_run {
    parts = {
      service.postgresql = {
        running = true
      }
    }
  }
}
