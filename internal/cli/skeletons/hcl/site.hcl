# What should be there, on the machine where tenet runs. To try it out:
#
#     tenet plan                  show what would be done
#     tenet apply                 do it; a second time there is nothing to do
#     tenet test                  carry out the cases in tests/, in memory
#     tenet doc                   what a state file may hold
#
# From here to a served page and to many hosts: two tutorials, and which word to take for what,
# https://github.com/tenetcm/tenet/blob/main/docs/tutorial.md
# https://github.com/tenetcm/tenet/blob/main/docs/tutorial-fleet.md
# https://github.com/tenetcm/tenet/blob/main/docs/choosing.md
#
# All *.hcl and *.star files of this directory are one site: split it as you like.

variable "dir" {
  type        = string
  description = "Where the page goes. Empty: tenet-example in your home."
  default     = ""
}

variable "greeting" {
  type        = string
  description = "The first words of the page."
  default     = "Hello"

  validation {
    condition     = var.greeting != ""
    error_message = "The greeting is empty."
  }
}

locals {
  # fact.* is what is known about the machine: tenet facts lists all.
  dir = var.dir != "" ? var.dir : "${fact.home}/tenet-example"
}

# A part is one thing in a wanted condition: TYPE "LABEL" { … }. Parts at top
# level start in the order in which they stand here.
directory "site" {
  path = local.dir
}

# The content is made from a template beside this file. When the page has
# changed, it notifies a handler.
file "page" {
  path    = "${local.dir}/index.html"
  content = template("page.html.tmpl", { greeting = var.greeting, host = fact.hostname })
  notify  = [handler.announce]
}

# One part for each key: file.note["monday"], file.note["tuesday"].
file "note" {
  for_each = { monday = "Plan.", tuesday = "Apply." }
  path     = "${local.dir}/${each.key}.txt"
  content  = "${each.value}\n"
}

# A handler is a named list of parts in their order, which runs only when something
# that notifies it has changed.
handler "announce" {
  print "page" {
    message = "The page is new: ${local.dir}/index.html"
  }
}
