# What a machine is to have for this component, beside what its packages bring. Somebody has a
# key, sshd takes the settings, and answers with them.

needs {
  command "sh" {
    argv = ["sh", "-c", "*", "way_in", "..."]
  }
  command "sh" {
    argv = ["sh", "-c", "*", "accepted", "..."]
  }
  command "sh" {
    argv    = ["sh", "-c", "*", "restore", "*"]
    removes = ["{4}"]
  }
}
