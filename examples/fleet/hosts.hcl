# A load balancer, two web servers behind it, and a database. The database comes first; then
# one web server after the other is taken out of the load balancer, changed, and put back.

site {
  name = "fleet"
}

host "lb1" {
  address = "192.0.2.3"
}

host "web1" {
  address = "192.0.2.1"
}

host "web2" {
  address = "192.0.2.2"
  vars    = { color = "green" }
}

host "db1" {
  address = "192.0.2.11"
  labels  = { tier = "data" }
}

host_group "all" {
  hosts  = ["*"]
  user   = "deploy"
  become = true
}

host_group "lb" {
  hosts = ["lb*"]
  roles = ["lb"]
}

host_group "web" {
  hosts = ["web*"]
  roles = ["web"]
}

host_group "data" {
  labels = { tier = "data" }
  roles  = ["database"]
}

rollout {
  batch        = 1
  max_failures = 0

  stage "database" {
    hosts = "@data"
  }

  stage "lb" {
    hosts = "@lb"
  }

  stage "web" {
    hosts = "@web"

    before_each {
      hosts = "@lb"
      state = state.drain
    }

    after_each {
      hosts = "@lb"
      state = state.undrain
    }
  }
}
