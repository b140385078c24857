# Three database servers that are one cluster. The leader makes it; the others join it by a
# token that only the leader can give.

site {
  name = "cluster"
}

host "db1" {
  address = "192.0.2.21"
}

host "db2" {
  address = "192.0.2.22"
}

host "db3" {
  address = "192.0.2.23"
}

host_group "db" {
  hosts  = ["db*"]
  user   = "deploy"
  become = true
}

host_group "leader" {
  hosts = ["db1"]
  roles = ["leader"]
}

host_group "member" {
  hosts = ["@db", "!@leader"]
  roles = ["member"]
}
