# A first site. It needs no root and nothing installed, and writes only below
# one directory. Show what would happen, and do it:
#
#     tenet plan  examples/quickstart
#     tenet apply examples/quickstart
#
# Then apply it again (nothing to do), and with another greeting (one file
# changes, and its handler runs):
#
#     tenet apply --var greeting=Welcome examples/quickstart

variable "dir" {
  description = "Where everything goes. Empty: tenet-quickstart in your home."
  default     = ""
}

variable "greeting" {
  description = "The first word of the page."
  default     = "Hello"
}

locals {
  # fact.* is what tenet knows about the machine; only what is named is asked.
  dir = var.dir != "" ? var.dir : "${fact.home}/tenet-quickstart"
}

# A part is one thing in a wanted condition: TYPE "LABEL" { … }. Parts at top
# level start in the order in which they stand here.
directory "all" {
  path = local.dir
}

# The content comes from a template beside this file. A changed file shows as a
# diff, in a plan as well as in an apply.
file "page" {
  path    = "${local.dir}/page.txt"
  content = template("page.txt.tmpl", { greeting = var.greeting, host = fact.hostname })
}

# One part for each key: file.note["monday"], file.note["tuesday"].
file "note" {
  for_each = { monday = "Plan.", tuesday = "Apply." }
  path     = "${local.dir}/${each.key}.txt"
  content  = "${each.value}\n"
}

# Neighbours of one type have no order: these two run at once, and take one
# second together. "creates" makes a command a condition: it is not run where
# that path exists.
command "left" {
  shell   = "sleep 1 && echo left > '${local.dir}/left'"
  creates = "${local.dir}/left"
}

command "right" {
  shell   = "sleep 1 && echo right > '${local.dir}/right'"
  creates = "${local.dir}/right"
}
