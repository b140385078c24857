package expr

// OptionDoc describes an option for readers.
type OptionDoc struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Places  []string `json:"places"` // part, state, run, block, component
	Block   bool     `json:"block,omitempty"`
	Doc     string   `json:"doc"`     // whole sentences
	Example string   `json:"example"` // a site
}

// OptionDocs describes all options, in the order of Options.
func OptionDocs() []OptionDoc {
	texts := map[string][3]string{}
	for _, table := range [][][4]string{orderDocs(), stateDocs(), decisionDocs(), carryingDocs()} {
		for _, d := range table {
			texts[d[0]] = [3]string{d[1], d[2], d[3]}
		}
	}
	var docs []OptionDoc
	for _, o := range Options() {
		text := texts[o.Name]
		docs = append(docs, OptionDoc{Name: o.Name, Type: text[0], Places: o.On.Names(), Block: o.Block, Doc: text[1], Example: text[2]})
	}
	return docs
}

// Names lists the places, in the singular.
func (p Place) Names() []string {
	var names []string
	for _, place := range []struct {
		on   Place
		name string
	}{{OnPart, "part"}, {OnState, "state"}, {OnRun, "run"}, {OnBlock, "block"}, {OnComponent, "component"}} {
		if p&place.on != 0 {
			names = append(names, place.name)
		}
	}
	return names
}

const references = "list of references"

// orderDocs are about what comes after what. Each has a name, a type, a text and
// an example.
func orderDocs() [][4]string {
	const handler = `file "/etc/nginx/nginx.conf" {
  content = "events {}\n"
  notify  = [reload.nginx]
}

reload "nginx" {}
`
	return [][4]string{
		{"require", references, "Runs after these have succeeded and settled: they have ended, and so have all handlers that they notify.", `package "nginx" {}

service "nginx" {
  running = true
  require = [package.nginx]
}
`},
		{"follows", references, "Begins when these have ended, whatever came of them: of a handler, all its runs that do not come after it. It invokes nothing, and waits for no handlers; a requirement does both. On a handler it holds for each of its runs, so that one may do where there would be two.", `archive "release" {
  path   = "/srv/app/7"
  file   = "/var/cache/app-7.tar.gz"
  notify = [handler.restart]
}

symlink "current" {
  path    = "/srv/app/current"
  target  = "7"
  require = [archive.release]
  notify  = [handler.restart]
}

handler "restart" {
  follows = [symlink.current]
  restart "app" {}
}
`},
		{"notify", references, "When this changed something, these handlers run.", handler},
		{"notify_failure", references, "When this failed, these run.", `command "backup" {
  argv           = ["/usr/local/bin/backup"]
  notify_failure = [state.alarm]
}

state "alarm" {
  command "mail" {
    argv = ["/usr/local/bin/alarm", "the backup failed"]
  }
}
`},
		{"listen", references, "The inverse of notify, written on the handler. It makes a state lazy.", `file "/etc/nginx/nginx.conf" {
  content = "events {}\n"
}

reload "nginx" {
  listen = [file["/etc/nginx/nginx.conf"]]
}
`},
		{"listen_failure", references, "The inverse of notify_failure, written on the handler. It makes a state lazy.", `command "backup" {
  argv = ["/usr/local/bin/backup"]
}

state "alarm" {
  listen_failure = [command.backup]
  command "mail" {
    argv = ["/usr/local/bin/alarm", "the backup failed"]
  }
}
`},
	}
}

// stateDocs are about how a state runs.
func stateDocs() [][4]string {
	return [][4]string{
		{"lazy", "bool", "It runs only when it is notified, required or run.", `state "rebuild" {
  lazy = true
  command "index" {
    argv = ["/usr/local/bin/rebuild-index"]
  }
}

directory "/srv/data" {
  notify = [state.rebuild]
}
`},
		{"defer", "bool", "It runs only when it is notified, required or run, at most once, and after everything else. Only what is deferred itself can require it.", `state "reboot" {
  defer = true
  command "reboot" {
    argv = ["systemctl", "reboot"]
  }
}

package "linux-image-amd64" {
  notify = [state.reboot]
}
`},
		{"parallel", "bool", "Its parts have no order of their own, but for require among them. The failure of one ends only those that require it.", `state "tools" {
  parallel = true
  package "curl" {}
  package "git" {}
}
`},
	}
}

// decisionDocs are about whether something runs.
func decisionDocs() [][4]string {
	return [][4]string{
		{"when", "bool", "False leaves it out, and what it required is passed on to what requires it. It is decided when the site is compiled, or on the host if it uses results.", `package "nginx" {
  when = fact.os.family == "debian"
}
`},
		{"only_if", "guard", "Decided on the host just before it runs: it is skipped unless all attributes of the block hold. Of several blocks, every one must hold. Attributes: exists, missing (paths), command (a program that ends with 0), would_change (references: a plan of them holds a change).", `command "migrate" {
  argv = ["/usr/local/bin/migrate"]
  only_if {
    exists = "/srv/app/database"
  }
}
`},
		{"unless", "guard", "The opposite of only_if: it is skipped if all attributes of the block hold. Of several blocks, any one skips.", `command "initialise" {
  argv = ["/usr/local/bin/initialise"]
  unless {
    exists = "/srv/app/database"
  }
}
`},
		{"for_each", "map, set or list of distinct strings", "One instance for each key, ordered by key. In it each.key and each.value stand for the key and the value; its address is NAME[\"KEY\"]. In a part of a state with for_each, each.parent is that of the state.", `user "account" {
  for_each = { ada = 2001, bob = 2002 }
  name     = each.key
  uid      = each.value
}
`},
		{"ensure", `"present" or "absent"`, "\"absent\" removes it. That of a part counts before that of its state, run, block or component. Where all is absent, the order is reversed: what was set up last is removed first.", `file "/etc/motd" {
  ensure = "absent"
}
`},
		{"retain", "true or a number", "True: what the part has created stays where its state, run, block or component is made absent, and where it is declared no longer, until tenet forget: data, and what others use as well. An ensure of its own counts first. A number, in a site with a name: of all that this address has stood for, over its instances, so many stay: those that were wanted last, and whatever is declared, with what other parts have created below their paths. Each apply without a selection removes older ones, after everything else, if nothing has failed. Absent, all of them go.", `site {
  name = "shop"
}

variable "version" {
  default = "7"
}

archive "release" {
  path   = "/srv/app/${var.version}"
  file   = "/var/cache/app-${var.version}.tar.gz"
  retain = 3
}

state "database" {
  directory "/var/lib/app" {
    retain = true
  }
  package "app-database" {}
}
`},
	}
}

// carryingDocs are about how something is carried out and shown.
func carryingDocs() [][4]string {
	return [][4]string{
		{"retry", "object", "How often it is tried, and with what pauses. Without it: one attempt after a clean failure or a timeout, three after an unknown outcome; types that use a network have their own.", `package "nginx" {
  retry = { attempts = 3, delay = "2s", backoff = 2, max_delay = "30s" }
}
`},
		{"become", "true or a string", "It acts as root (true), or as the user of that name: by sudo or doas, or without either where tenet is run by root. It sees, reads and writes what that account may, in the plan too; so do its guards.", `command "install hooks" {
  argv   = ["git", "-C", "/srv/app", "pull"]
  become = "deploy"
}
`},
		{"timeout", "duration, as a string", "Ends its processes after that time; it has failed then, and notifies as if it had changed something.", `command "import" {
  argv    = ["/usr/local/bin/import"]
  timeout = "10m"
}
`},
		{"ignore_failure", "bool", "A failure is reported, and blocks nothing.", `command "warm up" {
  argv           = ["curl", "-fsS", "http://localhost/"]
  ignore_failure = true
}
`},
		{"confirm", "object", "A check that what the block changed may stay. When its parts and the handlers that they notify have run and something has changed, command is tried again and again until it ends with 0. If it has not within timeout, the files, links, directories, owners and modes that the block changed are put back as they were, its handlers run again, and the block has failed. What is no file, such as a package or what a command did, stays. The command only reads; both attributes are required.", `block "ssh" {
  confirm {
    timeout = "60s"
    command = ["nc", "-z", "127.0.0.1", "22"]
  }
  file "/etc/ssh/sshd_config.d/local.conf" {
    content = "PermitRootLogin no\n"
    notify  = [reload.ssh]
  }
}

reload "ssh" {}
`},
		{"lock", "list of strings", "It never runs at the same time as others that name the same lock. Package managers hold one by themselves.", `command "import" {
  argv = ["/usr/local/bin/import"]
  lock = ["database"]
}

command "export" {
  argv = ["/usr/local/bin/export"]
  lock = ["database"]
}
`},
		{"sensitive", "bool", "All its values, results and output are hidden everywhere.", `command "token" {
  argv      = ["/usr/local/bin/show-token"]
  sensitive = true
}
`},
		{"tags", "list of strings", "Names for --tags, which selects what carries one of them.", `package "nginx" {
  tags = ["web"]
}
`},
		{"description", "string", "Text for people.", `state "web" {
  description = "Everything that the public site needs."
  package "nginx" {}
}
`},
	}
}
