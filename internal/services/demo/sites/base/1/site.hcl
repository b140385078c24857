# What every machine has, whatever it is for. The platform team looks after it.

site {
  name = "base"
}

# Nobody dares to change these: what differs there is only told.
host_group "legacy" {
  hosts     = ["legacy*"]
  reconcile = { mode = "audit" }
}

rollout {
  batch        = "100%"
  max_failures = "20%"
}

component "motd" {
  source = "std/motd"
  vars = {
    text = "${host.name}: kept by tenet. What you change by hand is changed back.\n"
  }
}

package "chrony" {}

file "time" {
  path    = "/etc/chrony/chrony.conf"
  source  = "chrony.conf"
  require = [package.chrony]
  notify  = [restart.chrony]
}

service "chrony" {
  running = true
  enabled = true
  require = [file.time]
}

restart "chrony" {}

user "ops" {
  system  = true
  shell   = "/bin/bash"
  comment = "Platform team"
}

file "/etc/issue" {
  content = "Authorized use only.\n"
}
