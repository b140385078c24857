# nginx as a load balancer. Which web servers there are, and which of them are drained, lbctl
# (files/lbctl) knows: so that a web server that has failed stays out, whatever is applied.

role "lb" {
  package "nginx" {}

  directory "drained" {
    path    = "/etc/lb/drained"
    parents = true
  }

  file "lbctl" {
    path   = "/usr/local/sbin/lbctl"
    source = "files/lbctl"
    mode   = "0755"
  }

  file "servers" {
    path    = "/etc/lb/servers"
    content = join("", [for h in hosts("@web") : "${h.name} ${h.address}\n"])
    require = [directory.drained]
    notify  = [handler.balance]
  }

  file "balancer" {
    path    = "/etc/nginx/conf.d/balancer.conf"
    content = <<-END
      upstream web {
        include /etc/lb/upstream;
      }
      server {
        listen 8080;
        location / {
          proxy_pass http://web;
        }
      }
    END
    require = [package.nginx]
    notify  = [handler.balance]
  }

  handler "balance" {
    follows = [file.lbctl]

    command "render" {
      argv   = ["/usr/local/sbin/lbctl", "render"]
      writes = ["/etc/lb/upstream"]
    }
  }

  service "nginx" {
    running = true
    enabled = true
    require = [file.balancer, file.servers]
  }

  # The rollout runs these two around each batch, and tells them its hosts: hosts.hcl.
  state "drain" {
    param "batch" {
      type = list(string)
    }

    command "drain" {
      argv = concat(["/usr/local/sbin/lbctl", "drain"], param.batch)
    }
  }

  state "undrain" {
    param "batch" {
      type = list(string)
    }

    param "failed" {
      type = list(string)
    }

    command "enable" {
      argv = concat(["/usr/local/sbin/lbctl", "enable"], sort(setsubtract(param.batch, param.failed)))
    }
  }
}
