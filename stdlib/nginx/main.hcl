# std/nginx: web sites, each with the certificate that it needs.
#
#     component "web" {
#       source = "std/nginx"
#       vars = {
#         sites = {
#           "example.test" = {
#             root = "/srv/www/example"
#             tls  = "self-signed"
#           }
#           shop = {
#             domains = ["shop.example.test", "www.shop.example.test"]
#             proxy   = "http://127.0.0.1:8080"
#             tls     = "command"
#             command = [
#               "certbot", "certonly", "--non-interactive", "--agree-tos",
#               "--email", "admin@example.test", "--webroot", "--webroot-path", "/var/www/challenges",
#               "--domain", "shop.example.test", "--domain", "www.shop.example.test",
#             ]
#             certificate = "/etc/letsencrypt/live/shop.example.test/fullchain.pem"
#             key         = "/etc/letsencrypt/live/shop.example.test/privkey.pem"
#           }
#         }
#       }
#     }
#
# An issuer of certificates wants to see the live site, and nginx does not start
# with a certificate that is not there. So a site with tls goes live twice:
#
#     all sites over http → one reload → their certificates → all sites over https
#     → one reload
#
# and once it has its certificate, never goes back. nginx checks each
# configuration before it counts: one that it refuses is put back, and nginx is not
# reloaded.
#
# nginx is to run only once its sites are written. So a site that somebody has broken, or
# a certificate that does not fit its key any more, is put right although nginx does not
# run, and cannot start before.
#
# tls is one of
#
# - "off": http only.
# - "self-signed": a certificate signed by itself, by openssl, made anew in time.
# - "files": certificate and key are there, from whatever source. std/self_signed_ca
#   makes such files.
# - "command": a program, such as an ACME client, makes them. It is run where the
#   certificate is missing or ends within renew_days, and puts its challenges into
#   /var/www/challenges, which each site serves over http.
#
# Several components live side by side, such as one for each role of a host: under
# different names of sites, and with the same directories.
#
# Made absent, the sites are removed; certificates, what the sites serve, and nginx
# stay.

variable "sites" {
  type = map(object({
    domains     = optional(list(string))
    root        = optional(string)
    proxy       = optional(string)
    redirect    = optional(string)
    tls         = optional(string, "off")
    certificate = optional(string)
    key         = optional(string)
    command     = optional(list(string))
    renew_days  = optional(number, 30)
    http        = optional(string, "redirect")
    websockets  = optional(bool, false)
    settings    = optional(string, "")
  }))
  description = "The sites by name. domains are the names that a site answers to, by default its own name. It has one of root (a directory to serve), proxy (the URL of a server behind, such as \"http://127.0.0.1:8080\") and redirect (a URL to send everybody to). With tls, http is \"redirect\" (to https) or \"serve\" (the same site over both). websockets lets a proxy pass them on. settings are further lines for nginx, as they are."

  validation {
    condition     = length(local.wrong.names) == 0
    error_message = "No site can have the name ${join(", ", local.wrong.names)}: letters, digits, ., _ and -, a letter or digit first."
  }

  validation {
    condition     = length(local.wrong.domains) == 0
    error_message = "${join(", ", local.wrong.domains)}: a domain is a name such as example.test or *.example.test, or \"_\" for any; there is at least one."
  }

  validation {
    condition     = length(local.wrong.kinds) == 0
    error_message = "${join(", ", local.wrong.kinds)}: a site has one of root, proxy and redirect."
  }

  validation {
    condition     = length(local.wrong.roots) == 0
    error_message = "${join(", ", local.wrong.roots)}: a root is an absolute path of letters, digits and ._-/."
  }

  validation {
    condition     = length(local.wrong.urls) == 0
    error_message = "${join(", ", local.wrong.urls)}: proxy and redirect are URLs with http:// or https:// in front, without blanks, quotes and braces; a proxy may also be \"http://unix:/run/app.sock\"."
  }

  validation {
    condition     = length(local.wrong.tls) == 0
    error_message = "${join(", ", local.wrong.tls)}: tls is \"off\", \"self-signed\", \"files\" or \"command\"."
  }

  validation {
    condition     = length(local.wrong.files) == 0
    error_message = "${join(", ", local.wrong.files)}: with tls = \"files\" or \"command\" a site names its certificate and its key, absolute paths of letters, digits and ._-/; otherwise neither."
  }

  validation {
    condition     = length(local.wrong.commands) == 0
    error_message = "${join(", ", local.wrong.commands)}: command is the program with its arguments that makes the certificate, given with tls = \"command\" and only then."
  }

  validation {
    condition     = length(local.wrong.days) == 0
    error_message = "${join(", ", local.wrong.days)}: renew_days is a whole number from 1 to 80, since a self-signed certificate is valid for 90 days; or 0, where something else renews the certificate."
  }

  validation {
    condition     = length(local.wrong.http) == 0
    error_message = "${join(", ", local.wrong.http)}: http is \"redirect\" or \"serve\"."
  }
}

variable "ipv6" {
  type        = bool
  default     = true
  description = "Whether the sites answer over IPv6, too. nginx refuses it on a host without IPv6."
}

variable "default_site" {
  type        = bool
  default     = false
  description = "Whether the welcome page stays that Debian's package brings. It would answer to all names that no site has."
}

variable "install" {
  type        = bool
  default     = true
  description = "Whether nginx is installed, and started now and at boot; and openssl, where certificates need it."
}

variable "start" {
  type        = bool
  default     = true
  description = "Whether nginx runs. Give false for a tree in which nothing runs, such as an image below --root: then it is not reloaded either."
}

locals {
  challenges   = "/var/www/challenges"
  certificates = "/etc/ssl/sites"

  domains = { for name, site in var.sites : name => coalesce(site.domains, [name]) }
  tls     = { for name, site in var.sites : name => site if site.tls != "off" }
  made    = { for name, site in var.sites : name => site if contains(["self-signed", "command"], site.tls) }

  # Where each site has its certificate and key. One that is signed by itself has
  # a place of its own, so that nothing takes it for another when tls changes.
  pem = {
    for name, site in local.tls : name => site.tls != "self-signed" ? { certificate = site.certificate, key = site.key } : {
      certificate                                                                   = "${local.certificates}/${name}.self-signed.pem"
      key                                                                           = "${local.certificates}/${name}.self-signed.key"
    }
  }

  # Whether a certificate that is made here fits its key.
  pair = { for name in keys(local.made) : name => ["sh", "-c", read("pair.sh"), "pair", local.pem[name].certificate, local.pem[name].key] }

  # The program that makes the certificate.
  issue = {
    for name, site in local.made : name => site.tls == "command" ? site.command : [
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90",
      "-subj", "/CN=${substr(local.domains[name][0], 0, 64)}",
      "-addext", "subjectAltName=${join(",", formatlist("DNS:%s", local.domains[name]))}",
      "-keyout", local.pem[name].key, "-out", local.pem[name].certificate,
    ]
  }

  # nginx takes all sites or none, and another component may be about to put its own right.
  patience = { attempts = 2, delay = "3s" }

  # What is run in a command may not be taken for something else by nginx or by
  # openssl, nor a path for several.
  path   = "^(/[A-Za-z0-9._-]+)+/?$"
  domain = "^(_|(\\*\\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*)$"
  url    = "^https?://[^\\s\"'{};\\\\\\x00]+$"

  # The names of the sites that a validation refuses, by what is wrong with them.
  wrong = {
    names = [for name in keys(var.sites) : jsonencode(name) if !can(regex("^[A-Za-z0-9][A-Za-z0-9._-]*$", name))]
    domains = [
      for name, domains in local.domains : name
      if length(domains) == 0 || !alltrue([for domain in domains : can(regex(local.domain, domain))])
    ]
    kinds = [for name, site in var.sites : name if length(compact([site.root, site.proxy, site.redirect])) != 1]
    roots = [
      for name, site in var.sites : name
      if site.root != null && (!can(regex(local.path, coalesce(site.root, "-"))) || contains(split("/", coalesce(site.root, "-")), ".."))
    ]
    urls = [
      for name, site in var.sites : name
      if !alltrue([for url in compact([site.proxy, site.redirect]) : can(regex(local.url, url))])
    ]
    tls = [for name, site in var.sites : name if !contains(["off", "self-signed", "files", "command"], site.tls)]
    files = [
      for name, site in var.sites : name
      if length([for path in compact([site.certificate, site.key]) : path if can(regex(local.path, path))]) !=
      (contains(["files", "command"], site.tls) ? 2 : 0) || length(compact([site.certificate, site.key])) == 1
    ]
    commands = [
      for name, site in var.sites : name
      if(site.tls == "command") != (site.command != null) || site.command != null && length(coalesce(site.command, [])) == 0
    ]
    days = [for name, site in var.sites : name if site.renew_days < 0 || site.renew_days > 80 || floor(site.renew_days) != site.renew_days]
    http = [for name, site in var.sites : name if !contains(["redirect", "serve"], site.http)]
  }
}

state "server" {
  description = "Install nginx."
  when        = var.install

  package "nginx" {
    description = "The web server."
    retain      = true
  }

  package "openssl" {
    description = "Makes certificates, and tells how long they are valid."
    retain      = true
    when        = length(local.made) > 0
  }

}

state "directories" {
  description = "Directories that the sites share."
  require     = var.install ? [state.server] : []

  directory "challenges" {
    description = "Where a program that gets certificates answers for all sites."
    retain      = true
    path        = local.challenges
    parents     = true
  }

  directory "certificates" {
    description = "Certificates that are signed by themselves, with their keys."
    retain      = true
    path        = local.certificates
    mode        = "0755"
  }
}

state "default_site" {
  description = "Take the package's welcome page away."
  when        = !var.default_site
  require     = var.install ? [state.server] : []

  symlink "default" {
    description = "The page itself stays in sites-available."
    ensure      = "absent"
    path        = "/etc/nginx/sites-enabled/default"
    notify      = var.start ? [state.reload] : []
  }
}

state "site" {
  description = "Publish one site, over http or with its certificate."
  for_each    = var.sites
  require     = [state.directories]

  param "tls" {
    type        = bool
    default     = false
    description = "Whether the site is served over https: its certificate must be there."
  }

  file "site" {
    description = "The site's configuration, in place only if nginx accepts it."
    path        = "/etc/nginx/conf.d/${each.key}.conf"
    content = template("site.conf.tmpl", {
      site       = each.value
      domains    = local.domains[each.key]
      tls        = param.tls
      pem        = lookup(local.pem, each.key, null)
      challenges = local.challenges
      ipv6       = var.ipv6
    })
    owner    = "root"
    group    = "root"
    mode     = "0644"
    validate = ["sh", "-c", read("accepted.sh"), "accepted", "/etc/nginx/conf.d/${each.key}.conf"]
    lock     = ["nginx"] # nginx checks all sites at once, those half done as well
    notify   = var.start ? [state.reload] : []
  }
}

# Once a site has its certificate it does not go back to plain http.
run "plain" {
  for_each    = var.sites
  description = "Publish each site over http, so that an issuer can see it."
  state       = state.site[each.key]

  unless {
    exists  = each.value.tls == "off" ? "/nonexistent" : local.pem[each.key].certificate
    command = lookup(local.pair, each.key, null)
  }
}

run "current" {
  for_each    = local.tls
  description = "Publish each site over https whose certificate is there, before nginx is to run."
  state       = state.site[each.key]
  params      = { tls = true }

  only_if {
    exists  = local.pem[each.key].certificate
    command = lookup(local.pair, each.key, null)
  }
}

state "running" {
  description = "Start nginx, with the sites as they are now."
  when        = var.install
  require     = [state.server, state.default_site, run.plain, run.current]

  service "nginx" {
    description = "It runs now, and after the next boot."
    running     = var.start ? true : null
    enabled     = true
    retry       = local.patience
  }
}

state "certificate" {
  description = "Get each certificate that is missing, or does not fit its key."
  for_each    = local.made
  require     = concat([run.plain[each.key], run.current[each.key]], var.install ? [state.running] : [])

  unless {
    exists  = local.pem[each.key].certificate
    command = local.pair[each.key]
  }

  command "issue" {
    description = "Signs it, or has it signed."
    argv        = local.issue[each.key]
    writes      = each.value.tls == "self-signed" ? values(local.pem[each.key]) : null
  }
}

run "secure" {
  for_each    = local.tls
  description = "Publish each site that has a certificate over https."
  state       = state.site[each.key]
  params      = { tls = true }
  require     = concat([run.plain[each.key], run.current[each.key]], contains(keys(local.made), each.key) ? [state.certificate[each.key]] : [])
}

# Not before the sites are published, so that a new certificate costs no reload
# of its own.
state "renewal" {
  description = "Make each certificate anew that ends soon."
  for_each    = { for name, site in local.made : name => site if site.renew_days > 0 }
  require     = [state.certificate[each.key]]

  unless {
    command = ["openssl", "x509", "-checkend", tostring(each.value.renew_days * 86400), "-noout", "-in", local.pem[each.key].certificate]
  }

  command "issue" {
    description = "The same program that made the first."
    argv        = local.issue[each.key]
    writes      = each.value.tls == "self-signed" ? values(local.pem[each.key]) : null
    notify      = var.start ? [state.reload] : []
  }
}

state "reload" {
  description = "Let nginx take over what has changed."
  lazy        = true

  reload "nginx" {
    description = "Once for all sites that are due together; requests under way go on."
    ensure      = "present" # also when sites are taken away
    retry       = local.patience
  }
}

output "urls" {
  description = "Where each site is, by its name."
  value       = { for name, domains in local.domains : name => "${contains(keys(local.tls), name) ? "https" : "http"}://${domains[0]}/" }
}

output "certificates" {
  description = "Path of the certificate of each site that has one, by its name."
  value       = { for name, pem in local.pem : name => pem.certificate }
}

output "challenges" {
  description = "The directory in which a program that gets certificates puts its challenges."
  value       = local.challenges
}
