# What a machine is to have for this component, beside what its packages bring: its scripts make
# keys and certificates, which are valid for long.

needs {
  command "sh" {
    argv    = ["sh", "-c", "*", "key", "*"]
    missing = "{4}"
    creates = { "{4}" = "key\n" }
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "authority", "*", "*"]
    creates = { "{4}/ca.pem" = "certificate\n" }
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "sign", "*", "*", "*"]
    creates = { "{4}/{5}.pem" = "certificate\n" }
  }
  command "sh" {
    argv   = ["sh", "-c", "*", "current", "*", "*", "*"]
    exists = "{4}/{5}.pem"
  }
  command "sh" {
    argv      = ["sh", "-c", "*", "current", "*", "*", "*"]
    exit_code = 1
  }
}
