locals {
  conf = "/etc/sysctl.d/60-tenet.conf"
}

case "parameters are written, and handed to the kernel" {
  vars = { settings = { "vm.swappiness" = 10, "net.ipv4.ip_forward" = 1 } }
  machine {
    command "sysctl" {
      argv    = ["sysctl", "--quiet", "--load=${local.conf}"]
      creates = { "/proc/sys/vm/swappiness" = "10\n" }
    }
  }

  expect_apply {
    outcomes = { state.apply.command.sysctl = "changed" }
    after {
      file "/etc/sysctl.d/60-tenet.conf" {
        content = "# Kept by tenet.\nnet.ipv4.ip_forward = 1\nvm.swappiness = 10\n"
      }
      file "/proc/sys/vm/swappiness" {
        content = "10\n"
      }
    }
  }
}

case "nothing is loaded where nothing has changed" {
  vars = { settings = { "vm.swappiness" = 10 } }
  machine {
    file "/etc/sysctl.d/60-tenet.conf" {
      content = "# Kept by tenet.\nvm.swappiness = 10\n"
    }
  }

  expect_plan {
    changes = {}
  }
}

case "an image is left to its next boot" {
  vars = { settings = { "vm.swappiness" = 10 }, apply = false }

  expect_run {
    without = [state.apply]
    outputs = { path = local.conf }
  }
}
