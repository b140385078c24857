# An application that must be restarted twice: it starts with a plain
# configuration, is then registered, which needs it running, and starts again
# with the key that it got. Nothing is written twice: the state "app" has a
# parameter, and tenet finds out that the handler "restart" runs two times.
#
#     tenet graph   examples/quickstart
#     tenet compile examples/quickstart

locals {
  key = "${local.dir}/app.key"
}

# A state is a list of parts in order.
state "app" {
  require = [directory.all]

  param "registered" {
    type    = bool
    default = false
  }

  file "config" {
    path    = "${local.dir}/app.conf"
    content = "greeting = ${var.greeting}\nregistered = ${param.registered}\n"
    notify  = [state.restart]
  }
}

# A handler: lazy, so that it runs only when something that notifies it has
# changed. The application stands for a real one: it "starts" by taking over its
# configuration, and counts its starts.
state "restart" {
  lazy = true

  command "start" {
    shell = <<-SH
      cd '${local.dir}' && cp app.conf running.conf && echo started >> starts.log
    SH
  }
}

# run is one more execution of a state, here with its own guard: once there is a
# key, the plain configuration is not put back.
run "plain" {
  state = state.app

  unless {
    exists = local.key
  }
}

# To require a run is to wait until the handlers that it notified have ended:
# the key is made from what is running, not only from what is written.
state "register" {
  require = [run.plain]

  command "key" {
    shell   = "cd '${local.dir}' && cksum < running.conf > app.key"
    creates = local.key
  }
}

run "registered" {
  state   = state.app
  params  = { registered = true }
  require = [state.register]
}
