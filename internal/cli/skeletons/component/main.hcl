# NAME: a text for people, in a file of its own.
#
#     component "NAME" {
#       source = "./NAME"
#       vars   = { text = "Down on Sunday." }
#     }
#
# A component is a directory with its own state files: its variables are its inputs,
# its outputs its results. This comment, and the descriptions below, are what
# tenet doc ./NAME shows.

variable "text" {
  type        = string
  description = "The text."

  validation {
    condition     = trimspace(var.text) != ""
    error_message = "The text is empty."
  }
}

variable "path" {
  type        = string
  description = "The file."
  default     = "/etc/motd"
}

state "message" {
  description = "Write the text."

  file "message" {
    path    = var.path
    content = "${chomp(var.text)}\n"
  }
}

output "path" {
  description = "Path of the file."
  value       = var.path
}
