# std/peer: what a peer of a test bench needs, as a descriptor of openDuT says it.
#
#     inventory {
#       opendut = "lab.yml"
#     }
#
#     cluster "bench" {
#       roles = ["peer"]
#     }
#
#     role "peer" {
#       component "peer" {
#         source = "std/peer"
#         vars = {
#           name      = host.name
#           peer      = host.vars.peer
#           devices   = host.vars.peer_devices
#           cluster   = host.cluster
#           addresses = { for h in hosts("@bench") : h.name => h.address }
#           with_can  = [for h in hosts("@bench") : h.name if h.labels.can == "true"]
#         }
#       }
#     }
#
# The Ethernet interfaces on which devices of the cluster hang join a bridge, and so
# do GRE tunnels between the leader of the cluster and each other member, so that
# all devices are in one network. No other interface is touched. Each member has an
# address of its own there, which comes from its name, and each asks the others for an
# answer: what came of it is in the report, and in the metric tenet.check.
#
# CAN interfaces with such devices share a bus of the machine, which cannelloni
# carries over IP: the leader serves, whether it has CAN itself or not, and the others
# connect. Executors are containers in the network of the peer, unless their descriptor
# gives ports.
#
# Each part has the id of what it is for in its address, such as
# component.peer.state.network.bridge_port.interface["491b2e83-…"]: by that a
# report says of each interface, device and executor whether it is there. Nothing
# else is done where the peer is in no cluster, or with manage_network = false:
# of what nothing looks at, nothing is said.
#
# Names of devices and keys of tunnels come from the names of the members, so that
# one that joins or leaves changes nothing between the others.
#
# cannelloni is no package of Debian: where CAN interfaces are in a cluster, the
# program has to be there. All of this is the running kernel's: apply at boot.
#
# Made absent, bridge, tunnels, virtual CAN devices, units and containers are
# removed; real CAN devices stay as they are.

variable "name" {
  type        = string
  description = "Name of this host: host.name."
}

variable "peer" {
  type = object({
    location  = optional(string)
    network   = optional(any)
    topology  = optional(any)
    executors = optional(any)
  })
  description = "The spec of its PeerDescriptor: host.vars.peer."

  validation {
    condition     = length(local.executors) == length(local.described)
    error_message = "Executors are containers: none of another kind is carried out."
  }
}

variable "cluster" {
  type = object({
    name    = string
    leader  = optional(string)
    members = list(string)
  })
  default     = null
  description = "The cluster that it has joined: host.cluster. Without one, only its CAN interfaces and executors are set up."
}

variable "devices" {
  type        = list(string)
  default     = null
  description = "The ids of the devices that belong to the cluster: host.vars.peer_devices. Without it, all that the descriptor names."
}

variable "addresses" {
  type        = map(string)
  default     = {}
  description = "Where the members reach one another, by their names: IP addresses outside of the bridge."

  validation {
    condition     = length(local.lost) == 0
    error_message = "No address is known of ${join(", ", local.lost)}, which the cluster has as members: tunnels and CAN over IP need IP addresses."
  }
}

variable "with_can" {
  type        = list(string)
  default     = null
  description = "The members with CAN interfaces in the cluster: those whose label can is true. Without it, all are taken to be as this host is."
}

variable "tunnel_range" {
  type        = string
  default     = "198.18.0.0/15"
  description = "The network in which members have addresses of their own on the bridge, which keeps no other that was given to stay. That of RFC 2544, for benchmarks, is nobody's else. null: none has one, and nothing is asked."

  validation {
    condition     = var.tunnel_range == null || local.has_places
    error_message = "It is a network such as 198.18.0.0/15, with places for at least two hosts."
  }

  validation {
    condition     = length(distinct(values(local.own))) == length(local.own)
    error_message = "Two members would have the same address of their own, which comes from their names: give a larger network, or one of them another name."
  }
}

variable "checks" {
  type        = string
  default     = "report"
  description = "Of members that reach not all of the others: report (it is told, and they are as wanted nevertheless), require (they have failed), or none (nobody is asked)."

  validation {
    condition     = contains(["report", "require", "none"], var.checks)
    error_message = "It is report, require or none."
  }
}

variable "check_within" {
  type        = string
  default     = "1m"
  description = "How long a member waits for the others to answer, which may have their turn later."
}

variable "manage_network" {
  type        = bool
  default     = true
  description = "Whether bridge, tunnels, interfaces and CAN are made. With false the network is left alone."
}

variable "tunnels" {
  type        = bool
  default     = true
  description = "Whether GRE tunnels join the bridges of the members. With false they are joined otherwise, as by a switch or a VLAN that an interface of each descriptor leads to."
}

variable "bridge" {
  type        = string
  default     = null
  description = "Name of the bridge. Without it that of the descriptor (network.bridge-name), or br-opendut."

  validation {
    condition     = var.bridge == null || can(regex("^[A-Za-z0-9_.-]{1,15}$", var.bridge))
    error_message = "A device has a name of at most 15 letters, digits, _, . and -."
  }
}

variable "can_port" {
  type        = number
  default     = 21000
  description = "The first of 4096 TCP ports on which the leader serves CAN, one for each member."

  validation {
    condition     = length(distinct(values(local.port))) == length(local.port)
    error_message = "Two members would have the same port for CAN, which comes from their names: give one of them another name."
  }
}

variable "cannelloni" {
  type        = string
  default     = "/usr/bin/cannelloni"
  description = "Path of the program that carries CAN over IP."
}

variable "install" {
  type        = bool
  default     = true
  description = "Whether can-utils is installed, where there are CAN interfaces."
}

variable "results_url" {
  type        = string
  default     = ""
  description = "Where executors put their results: the variable OPENDUT_RESULTS_URL of containers whose descriptor names none (results-url)."
}

locals {
  interfaces = try(coalesce(var.peer.network.interfaces), [])
  topology   = try(coalesce(var.peer.topology.devices), [])
  used = [
    for d in local.topology : try(d["interface-id"], d["interface"])
    if var.devices == null || try(contains(var.devices, d.id), false)
  ]
  ethernet  = { for i in local.interfaces : i.id => i if lower(i.kind) == "ethernet" && contains(local.used, i.id) }
  cans      = { for i in local.interfaces : i.id => i if lower(i.kind) != "ethernet" && contains(local.used, i.id) }
  described = try(coalesce(var.peer.executors), [])
  executors = { for e in local.described : e.id => e if lower(try(e.kind, "container")) == "container" }
  bridge    = coalesce(var.bridge, try(var.peer.network["bridge-name"], null), "br-opendut")

  members = var.cluster == null || !var.manage_network ? [] : sort(var.cluster.members)
  leader  = length(local.members) == 0 ? "" : coalesce(var.cluster.leader, local.members[0])
  leads   = local.leader == var.name
  others  = length(local.members) == 0 ? [] : (local.leads ? [for m in local.members : m if m != local.leader] : [local.leader])
  lost    = length(local.members) == 0 || !var.tunnels && length(local.lines) == 0 ? [] : [for m in concat(local.others, [var.name]) : m if !can(regex("^([0-9.]+|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$", var.addresses[m]))]
  address = { for m in concat(local.others, [var.name]) : m => lookup(var.addresses, m, "192.0.2.254") }

  # What tells a tunnel from others: the member at its end that does not lead.
  ends = { for m in local.others : m => local.leads ? m : var.name }
  mark = { for m in local.others : m => substr(sha256(local.ends[m]), 0, 8) }
  key  = { for m in local.others : m => tostring(parseint(local.mark[m], 16)) }
  port = { for m in local.others : m => var.can_port + parseint(substr(sha256(local.ends[m]), 0, 3), 16) }

  # Addresses of their own, in the network that the bridge is.
  bits       = var.tunnel_range == null ? 0 : (strcontains(var.tunnel_range, ":") ? 128 : 32) - try(tonumber(split("/", var.tunnel_range)[1]), 128)
  size       = pow(2, max(2, min(31, local.bits))) - 2
  has_places = local.bits > 1 && can(cidrhost(var.tunnel_range, 2))
  own        = { for m in local.members : m => cidrhost(var.tunnel_range, 1 + parseint(substr(sha256(m), 0, 8), 16) % local.size) if local.has_places }
  asked      = var.checks == "none" ? {} : { for m, address in local.own : m => address if m != var.name }

  # Between whom CAN is carried.
  with_can = [for m in local.members : m if m == var.name ? length(local.cans) > 0 : (var.with_can == null ? length(local.cans) > 0 : contains(var.with_can, m))]
  lines    = length(local.with_can) < 2 ? [] : (local.leads ? [for m in local.others : m if contains(local.with_can, m)] : (length(local.cans) > 0 ? local.others : []))
  bus      = "br-vcan"
}

state "can" {
  description = "CAN interfaces."
  when        = var.manage_network && (length(local.cans) > 0 || length(local.lines) > 0)

  package "can-utils" {
    description = "The programs cangw and candump."
    when        = var.install && length(local.cans) > 0
    retain      = true
  }

  can "interface" {
    for_each     = { for id, i in local.cans : id => i if lower(i.kind) == "can" }
    name         = each.value.name
    up           = true
    bitrate      = try(each.value.parameters.bitrate, 500000)
    sample_point = try(each.value.parameters["sample-point"], 700) / 1000
    retain       = true # the bus goes on without tenet
  }

  can "virtual" {
    for_each = { for id, i in local.cans : id => i if lower(i.kind) == "vcan" }
    name     = each.value.name
    virtual  = true
  }

  can "bus" {
    name    = local.bus
    virtual = true
  }

  systemd_unit "routes" {
    name    = "opendut-can-routes.service"
    when    = length(local.cans) > 0
    content = template("routes.service.tmpl", { interfaces = [for i in local.cans : i.name], bus = local.bus })
    notify  = [restart.routes]
  }

  service "routes" {
    name        = "opendut-can-routes"
    description = "Frames of each interface are seen on the bus, on the other interfaces, and the other way round."
    when        = length(local.cans) > 0
    running     = true
    enabled     = true
  }
}

restart "routes" {
  name        = "opendut-can-routes"
  description = "Set the routes anew."
}

state "network" {
  description = "One network for the Ethernet interfaces of all members."
  when        = length(local.members) > 0

  bridge "bridge" {
    name = local.bridge
  }

  interface "bridge" {
    description = "The address of its own."
    when        = length(local.own) > 0
    name        = local.bridge
    addresses   = [for m, address in local.own : "${address}/${split("/", var.tunnel_range)[1]}" if m == var.name]
  }

  interface "port" {
    for_each = local.ethernet
    name     = each.value.name
    up       = true
  }

  bridge_port "interface" {
    for_each = local.ethernet
    port     = each.value.name
    bridge   = local.bridge
  }

  gre "tunnel" {
    for_each = toset(var.tunnels ? local.others : [])
    name     = "gre-${local.mark[each.key]}"
    local    = local.address[var.name]
    remote   = local.address[each.key]
    key      = local.key[each.key]
    frames   = true
  }

  bridge_port "tunnel" {
    for_each = toset(var.tunnels ? local.others : [])
    port     = "gre-${local.mark[each.key]}"
    bridge   = local.bridge
  }
}

state "reach" {
  description    = "Each other member answers in the network that they share."
  when           = length(local.asked) > 0
  require        = [state.network]
  parallel       = true
  ignore_failure = var.checks != "require"

  wait_for "member" {
    for_each = local.asked
    ping     = each.value
    within   = var.check_within
  }
}

state "can_over_ip" {
  description = "The bus of the leader and that of each member with CAN are one."
  when        = length(local.lines) > 0
  require     = [state.can]

  systemd_unit "cannelloni" {
    for_each = toset(local.lines)
    name     = "opendut-can-${local.mark[each.key]}.service"
    content = template("cannelloni.service.tmpl", {
      program = var.cannelloni, bus = local.bus, role = local.leads ? "s" : "c", peer = each.key, port = local.port[each.key],
      own     = var.addresses[var.name], remote = var.addresses[each.key]
    })
    notify = [handler.cannelloni]
  }

  service "cannelloni" {
    for_each    = toset(local.lines)
    name        = "opendut-can-${local.mark[each.key]}"
    description = "CAN over IP."
    running     = true
    enabled     = true
  }
}

handler "cannelloni" {
  description = "Carry CAN as it is described now."

  restart "cannelloni" {
    for_each    = toset(local.lines)
    name        = "opendut-can-${local.mark[each.key]}"
    description = "CAN over IP."
  }
}

state "executors" {
  description = "Containers that carry out tests."
  when        = length(local.executors) > 0
  require     = [state.network, state.can]

  container "executor" {
    for_each = { for id, e in local.executors : id => try(e.parameters, e) }
    name     = try(each.value.name, "opendut-${each.key}")
    image    = each.value.image
    engine   = try(each.value.engine, null)
    command  = try(concat([each.value.command], try(each.value.args, [])), null)
    environment = merge(
      { for v in try(each.value.envs, []) : v.name => tostring(v.value) },
      coalesce(try(each.value["results-url"], null), var.results_url, "-") == "-" ? {} : { OPENDUT_RESULTS_URL = coalesce(try(each.value["results-url"], null), var.results_url) }
    )
    network = length(try(each.value.ports, [])) > 0 ? null : "host" # where the devices are reached
    ports   = try(each.value.ports, [])
    volumes = try(each.value.volumes, [])
    devices = try(each.value.devices, [])
  }
}

output "network" {
  description = "Name of the bridge."
  value       = local.bridge
}

output "address" {
  description = "The address of its own on the bridge; null: it has none."
  value       = lookup(local.own, var.name, null)
}
