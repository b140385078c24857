# Who may come in, and what they may do.

role "people" {
  locals {
    people = {
      alice = { uid = 3001, admin = true }
      bob   = { uid = 3002, admin = true }
      carol = { uid = 3003, admin = false }
      dave  = { uid = 3004, admin = false }
      erin  = { uid = 3005, admin = false }
    }
    groups = { admins = 3100, developers = 3101, deployers = 3102, auditors = 3103 }
  }

  state "groups" {
    group "group" {
      for_each = local.groups
      name     = each.key
      gid      = each.value
    }

    # Each has a group of their own, of the same number.
    group "own" {
      for_each = local.people
      name     = each.key
      gid      = each.value.uid
    }
  }

  state "person" {
    for_each = local.people
    require  = [state.groups]

    user "account" {
      name    = each.parent.key
      uid     = each.parent.value.uid
      group   = each.parent.key
      groups  = each.parent.value.admin ? ["admins", "adm", "developers"] : ["developers"]
      shell   = "/bin/bash"
      comment = title(each.parent.key)
    }

    authorized_keys "keys" {
      user      = each.parent.key
      keys      = [var.keys[each.parent.key]]
      exclusive = true
    }
  }

  # What programs are.
  state "services" {
    require = [state.groups]

    user "deploy" {
      uid     = 3010
      group   = "deployers"
      groups  = []
      shell   = "/bin/sh"
      home    = "/srv/deploy"
      comment = "Deployment"
    }

    authorized_keys "deploy" {
      keys = [
        "restrict,command=\"/usr/local/bin/agent deploy\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOoQkb8gPKiWggDhvGAhm+SuE+y+INed4hMt3KxRolVH deploy",
      ]
    }

    user "monitor" {
      uid    = 910
      group  = "auditors"
      system = true
      home   = "/nonexistent"
      shell  = "/usr/sbin/nologin"
    }
  }

  sudoers "admins" {
    groups   = ["admins"]
    run_as   = ["ALL"]
    commands = ["ALL"]
    nopasswd = true
    require  = [state.groups, package.basics["sudo"]]
  }

  sudoers "deploy" {
    users    = ["deploy"]
    commands = ["/usr/bin/systemctl reload nginx", "/usr/bin/systemctl restart app"]
    nopasswd = true
    require  = [state.services, package.basics["sudo"]]
  }

  sudoers "defaults" {
    content = "Defaults timestamp_timeout=5\nDefaults !lecture\n"
    require = [package.basics["sudo"]]
  }

  known_host "backup" {
    host = "backup.${var.domain}"
    keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB7koXukOCXuCO+LTfaBAO53ZwAVq5+f74tPp6xiYPFX"]
  }

  known_host "backup for deployments" {
    host    = "[backup.${var.domain}]:2222"
    user    = "deploy"
    keys    = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB7koXukOCXuCO+LTfaBAO53ZwAVq5+f74tPp6xiYPFX"]
    require = [state.services]
  }

  # Hardened, and put back if nobody could log in.
  component "ssh" {
    source  = "std/ssh_server"
    require = [state.person, state.services]
    vars = {
      allow_groups      = ["admins", "deployers", "developers"]
      permit_root_login = "no"
      settings          = { ClientAliveInterval = "300", MaxAuthTries = "3" }
    }
  }
}
