# A cluster of simulated machines:
#
#     tenet test examples/cluster

machine "server" {
  like = "debian12-server"
  command "/usr/local/bin/clusterdb" {
    argv    = ["/usr/local/bin/clusterdb", "init"]
    creates = { "/var/lib/clusterdb/token" = "" }
  }
  command "/usr/local/bin/clusterdb" {
    argv   = ["/usr/local/bin/clusterdb", "token"]
    exists = "/var/lib/clusterdb/token"
    stdout = "a token\n"
  }
  command "/usr/local/bin/clusterdb" {
    argv    = ["/usr/local/bin/clusterdb", "join", "192.0.2.21"]
    creates = { "/var/lib/clusterdb/member" = "" }
  }
}

case "the members join after the leader" {
  machine "db1" {
    like = "server"
  }
  machine "db2" {
    like = "server"
  }
  machine "db3" {
    like = "server"
  }

  expect_plan {
    host    = "db2"
    changes = { file.program = "create", command.join = "maybe execute" }
  }
  expect_rollout {
    turns = ["db1, db2, db3"]
  }
  expect_apply {
    host    = "db1"
    changed = [file.program, command.init]
  }
  expect_apply {
    host    = "db3"
    changed = [file.program, command.join]
  }
}

case "no member joins while there is no leader" {
  machine "db1" {
    like = "server"
    command "/usr/local/bin/clusterdb" {
      argv      = ["/usr/local/bin/clusterdb", "init"]
      exit_code = 1
    }
  }
  machine "db2" {
    like = "server"
  }

  expect_apply {
    host     = "db1"
    failures = { command.init = "exit status 1" }
  }
  expect_rollout {
    turns = ["db1"]
  }
}

case "one more member, of a cluster that is there" {
  host  = "db3"
  hosts = { db1 = { outputs = { join = "a token" } } }
  machine {
    like = "server"
  }

  expect_apply {
    outcomes = { command.join = "changed" }
  }
}
