# What all of them have. A script stands for the database: files/clusterdb.
role "database" {
  file "program" {
    path   = "/usr/local/bin/clusterdb"
    source = "files/clusterdb"
    mode   = "0755"
  }
}

role "leader" {
  roles = ["database"]

  command "init" {
    argv    = ["/usr/local/bin/clusterdb", "init"]
    creates = "/var/lib/clusterdb/token"
    writes  = ["/var/lib/clusterdb"]
    require = [file.program]
  }

  # It only reads, so that a plan knows the token as well, once there is a cluster.
  command "token" {
    argv      = ["/usr/local/bin/clusterdb", "token"]
    plan      = true
    reads     = ["/var/lib/clusterdb"]
    sensitive = true
    require   = [command.init]
  }

  # What this host hands to others.
  output "join" {
    value       = trimspace(command.token.stdout)
    sensitive   = true
    description = "The token by which members join."
  }
}

role "member" {
  roles = ["database"]

  # Members have their turns after the leader, because they read its output. The token comes
  # on standard input: arguments are seen by everybody on the machine.
  command "join" {
    argv    = ["/usr/local/bin/clusterdb", "join", hosts("@leader")[0].address]
    stdin   = hosts("@leader")[0].outputs.join
    creates = "/var/lib/clusterdb/member"
    writes  = ["/var/lib/clusterdb"]
    require = [file.program]
  }
}
