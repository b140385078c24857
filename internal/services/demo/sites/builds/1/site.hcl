# Machines that build what the others run. The build team looks after it.

site {
  name = "builds"

  # It takes people to mend a disk: no use in trying for long.
  reconcile {
    attempts = 2
    backoff  = "1s"
  }
}

rollout {
  batch        = 1
  max_failures = 0
}

directory "workspaces" {
  path = "/srv/builds"
}

file "settings" {
  path    = "/srv/builds/runner.conf"
  content = "name = ${host.name}\njobs = 2\ncache = /srv/builds/cache\n"
  require = [directory.workspaces]
}

package "git" {}
