# What a machine is to have for this component, beside what its packages bring: installing the
# server makes the account and the cluster main, with its settings. What a database holds is for
# the case to describe, by the answers of psql.

needs {
  package "postgresql-15" {
    services = ["postgresql@15-main"]
    files = {
      "/etc/postgresql/15/main/postgresql.conf" = "", "/etc/postgresql/15/main/pg_hba.conf" = "",
      "/etc/postgresql/15/main/conf.d/.keep"    = ""
    }
  }
  package "postgresql-16" {
    services = ["postgresql@16-main"]
    files = {
      "/etc/postgresql/16/main/postgresql.conf" = "", "/etc/postgresql/16/main/pg_hba.conf" = "",
      "/etc/postgresql/16/main/conf.d/.keep"    = ""
    }
  }
  user "postgres" {
    uid  = 110
    home = "/var/lib/postgresql"
  }

  command "sh" {
    argv = ["sh", "-c", "*", "accepted", "..."]
  }
  command "sh" {
    argv = ["sh", "-c", "*", "rules", "..."]
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "restore", "*", "*", "*"]
    removes = ["{6}"]
  }
}
