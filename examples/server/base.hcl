# What every server has.

role "base" {
  vars = {
    timezone = "Europe/Berlin"
    locales  = ["en_GB.UTF-8", "de_DE.UTF-8"]
  }

  hostname "www1" {
    pretty = "Web server of ${var.domain}"
  }

  timezone "zone" {
    name = var.timezone
  }

  locale "language" {
    for_each = toset(var.locales)
    name     = each.key
    default  = each.key == var.locales[0]
  }

  # Machines that are not in the DNS.
  hosts_entry "host" {
    for_each = {
      "192.0.2.10"  = ["db1.${var.domain}", "db1"]
      "192.0.2.11"  = ["db2.${var.domain}", "db2"]
      "192.0.2.20"  = ["backup.${var.domain}", "backup"]
      "192.0.2.30"  = ["mail.${var.domain}", "mail", "smtp.${var.domain}"]
      "2001:db8::1" = ["gateway.${var.domain}", "gateway"]
    }
    address = each.key
    names   = each.value
  }

  sysctl "network" {
    for_each = {
      "net.ipv4.ip_forward"                        = "1"
      "net.ipv4.conf.all.rp_filter"                = "1"
      "net.ipv4.conf.all.accept_redirects"         = "0"
      "net.ipv4.conf.all.send_redirects"           = "0"
      "net.ipv4.conf.all.accept_source_route"      = "0"
      "net.ipv4.conf.all.log_martians"             = "1"
      "net.ipv4.icmp_echo_ignore_broadcasts"       = "1"
      "net.ipv4.icmp_ignore_bogus_error_responses" = "1"
      "net.ipv4.ip_local_port_range"               = "20000 60999"
      "net.ipv4.tcp_fin_timeout"                   = "30"
      "net.ipv4.tcp_keepalive_time"                = "600"
      "net.ipv4.tcp_rfc1337"                       = "1"
      "net.ipv4.tcp_max_syn_backlog"               = "4096"
    }
    key   = each.key
    value = each.value
    file  = "/etc/sysctl.d/60-server.conf"
  }

  limits "files" {
    for_each = { soft = "8192", hard = "16384" }
    domain   = "*"
    type     = each.key
    item     = "nofile"
    value    = each.value
  }

  limits "no core files" {
    domain = "*"
    type   = "hard"
    item   = "core"
    value  = "0"
  }

  limits "processes" {
    domain = "@developers"
    type   = "-"
    item   = "nproc"
    value  = "2000"
  }

  file "/etc/motd" {
    content = template("motd.tmpl", { domain = var.domain, roles = ["base", "web", "jobs"] })
  }

  file "/etc/issue" {
    content = "Authorized use only.\n"
  }

  file "umask" {
    path    = "/etc/profile.d/umask.sh"
    content = "umask 027\n"
  }

  line "history" {
    path = "/etc/bash.bashrc"
    line = "HISTTIMEFORMAT='%F %T '"
  }

  line "no messages to terminals" {
    path   = "/etc/profile"
    line   = "mesg n 2> /dev/null || true"
    create = true
  }

  line "umask of new accounts" {
    path  = "/etc/login.defs"
    line  = "UMASK\t\t027"
    match = "^UMASK\\s"
  }

  marked_block "aliases" {
    path    = "/etc/bash.bashrc"
    content = <<-END
      alias ll='ls -l'
      alias logs='journalctl -e'
    END
  }

  symlink "vi" {
    path   = "/usr/local/bin/j"
    target = "/usr/bin/journalctl"
  }

  # A service that does not end is not waited for as long.
  setting "manager" {
    for_each  = { DefaultTimeoutStopSec = "30s", DefaultTimeoutStartSec = "60s" }
    path      = "/etc/systemd/system.conf"
    key       = "Manager.${each.key}"
    value     = each.value
    separator = "="
  }

  setting "git" {
    for_each = { "init.defaultBranch" = "main", "pull.rebase" = "true" }
    path     = "/etc/gitconfig"
    format   = "ini"
    key      = each.key
    value    = each.value
    create   = true
    require  = [package.basics["git"]]
  }

  directory "journal" {
    path = "/etc/systemd/journald.conf.d"
  }

  file "journal" {
    path    = "/etc/systemd/journald.conf.d/size.conf"
    content = "[Journal]\nSystemMaxUse=200M\nMaxRetentionSec=1month\n"
    notify  = [restart.systemd-journald]
  }

  restart "systemd-journald" {}

  # Nothing is fetched or upgraded at night unless a site says so.
  service "timers" {
    for_each = ["apt-daily.timer", "apt-daily-upgrade.timer"]
    name     = each.key
    running  = false
    masked   = true
  }

  apt_repository "company" {
    uris      = ["${var.mirror}/packages"]
    suites    = ["./"]
    signed_by = var.mirror_key
  }

  # All in one go.
  package "tool" {
    for_each = var.packages
    name     = each.key
    version  = each.value != "" ? each.value : null
    require  = [apt_repository.company]
  }

  package "basics" {
    for_each = ["ca-certificates", "cron", "curl", "git", "openssl", "rsync", "sudo", "unzip", "xz-utils"]
    name     = each.key
    require  = [apt_repository.company]
  }

  package "never" {
    for_each = ["telnet", "rsh-client", "nis"]
    name     = each.key
    ensure   = "absent"
  }

  state "doas" {
    require = [package.tool["opendoas"]]

    file "/etc/doas.conf" {
      content  = "permit nopass :admins as root cmd systemctl\n"
      mode     = "0440"
      validate = ["doas", "-C", "%s"]
    }
  }

  download "agent" {
    path     = "/usr/local/bin/agent"
    url      = "${var.mirror}/agent"
    checksum = "sha256:060bfca6d77f79b163bfa5bd67102cb9ebf60c769110a008a9015cb77d944545"
    mode     = "0755"
  }
}
