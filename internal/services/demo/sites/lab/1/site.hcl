# A test bench of several machines, which is there as a whole or not at all. The lab team looks after it.

site {
  name = "lab"
}

cluster "bench" {
  hosts  = ["edge*"]
  leader = "edge1"
  roles  = ["bench"]
}

role "bench" {
  directory "bench" {
    path = "/etc/bench"
  }

  file "members" {
    path    = "/etc/bench/members"
    content = "leader ${host.cluster.leader}\n${join("", [for name in host.cluster.members : "member ${name}\n"])}"
    require = [directory.bench]
    notify  = [restart.bench]
  }

  systemd_unit "bench.service" {
    content = <<-END
      [Unit]
      Description=The bench, ${host.name == host.cluster.leader ? "which leads" : "led by ${host.cluster.leader}"}

      [Service]
      ExecStart=/usr/bin/bench --members /etc/bench/members

      [Install]
      WantedBy=multi-user.target
    END
    notify  = [restart.bench]
  }

  service "bench" {
    running = true
    enabled = true
    require = [systemd_unit["bench.service"], file.members]
  }

  restart "bench" {}
}
