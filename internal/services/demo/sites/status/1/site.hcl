# The page that says whether the shop is open. It lies in a folder that the server follows.

site {
  name = "status"
}

variable "notice" {
  type    = string
  default = "All is well."
}

directory "status" {
  path = "/srv/status"
}

file "page" {
  path    = "/srv/status/index.html"
  content = "<!doctype html>\n<title>Status</title>\n<p>${var.notice}</p>\n"
  require = [directory.status]
}
