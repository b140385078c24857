# The release of the shop. A program changes this line.

variable "release" {
  type    = string
  default = "4.3.0"
}
