# What a machine is to have for this component, beside what its packages bring.

needs {
  package "nginx-common" {
    links = { "/etc/nginx/sites-enabled/default" = "/etc/nginx/sites-available/default" }
  }

  command "sh" {
    argv = ["sh", "-c", "*", "accepted", "*"]
  }
  command "sh" {
    argv   = ["sh", "-c", "*", "pair", "*", "*"]
    exists = "{4}"
  }
  command "sh" {
    argv      = ["sh", "-c", "*", "pair", "*", "*"]
    exit_code = 1
  }

  # Certificates are made, and are valid for long.
  command "openssl" {
    argv    = ["openssl", "req", "-x509", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "*", "-keyout", "*", "-out", "*"]
    creates = { "{15}" = "key\n", "{17}" = "certificate\n" }
  }
  command "openssl" {
    argv = ["openssl", "x509", "-checkend", "..."]
  }
}
