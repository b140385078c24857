locals {
  conf = "/etc/sysctl.d/60-tenet.conf"
}

case "parameters are written, and given to the kernel where they differ" {
  vars = { settings = { "vm.swappiness" = 10, "net.ipv4.ip_local_port_range" = "20000 50000" } }
  machine {
    command "sysctl" {
      argv    = ["sysctl", "--values", "vm.swappiness"]
      stdout  = "60\n"
      missing = "/proc/sys/vm/swappiness"
    }
    command "sysctl" {
      argv    = ["sysctl", "--quiet", "--write", "vm.swappiness=10"]
      creates = { "/proc/sys/vm/swappiness" = "10\n" }
    }
    command "sysctl" {
      argv   = ["sysctl", "--values", "vm.swappiness"]
      stdout = "10\n"
      exists = "/proc/sys/vm/swappiness"
    }
    command "sysctl" {
      argv   = ["sysctl", "--values", "net.ipv4.ip_local_port_range"]
      stdout = "20000\t50000\n"
    }
  }

  expect_apply {
    outcomes = {
      "state.running[\"vm.swappiness\"].command.set"                = "changed"
      "state.running[\"net.ipv4.ip_local_port_range\"].command.set" = "skipped"
    }
    after {
      file "/etc/sysctl.d/60-tenet.conf" {
        content = "# Kept by tenet.\nnet.ipv4.ip_local_port_range = 20000 50000\nvm.swappiness = 10\n"
      }
      file "/proc/sys/vm/swappiness" {
        content = "10\n"
      }
    }
  }
}

case "a plan says which parameters have another value now" {
  vars  = { settings = { "vm.swappiness" = 10, "kernel.panic" = 5 } }
  until = "plan"
  machine {
    file "/etc/sysctl.d/60-tenet.conf" {
      content = "# Kept by tenet.\nkernel.panic = 5\nvm.swappiness = 10\n"
    }
    command "sysctl" {
      argv   = ["sysctl", "--values", "vm.swappiness"]
      stdout = "60\n"
    }
    command "sysctl" {
      argv   = ["sysctl", "--values", "kernel.panic"]
      stdout = "5\n"
    }
  }

  expect_plan {
    changes = { "state.running[\"vm.swappiness\"].command.set" = "execute" }
  }
}

case "an image is left to its next boot" {
  vars = { settings = { "vm.swappiness" = 10 }, apply = false }

  expect_run {
    without = [state.running]
    outputs = { path = local.conf }
  }
}
