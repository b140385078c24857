//go:build lab

package labtest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/internal/lab"
	"github.com/tenetcm/tenet/states"
)

// shop is what many servers are: people, a web site with TLS, a database, an app that
// is released by a switch and restarted by a handler, and a container.
const shop = `
variable "release" {}

component "people" {
  source = "std/users"
  vars = {
    groups = { admins = {} }
    users = {
      alice = {
        groups = ["admins"]
        keys   = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJl3dIeudNqd0DPMRD6OIh65tjKcTNtNGWK2oCgDn2WZ alice"]
        sudo   = "NOPASSWD"
      }
    }
  }
}

user "shop" {
  system = true
  home   = "/srv/shop"
}

directory "/srv/shop" {
  owner = "shop"
}

directory "/srv/shop/releases" {}

tree "release" {
  path   = "/srv/shop/releases/${var.release}"
  source = "files/${var.release}"

  file_mode = "0644"
  dir_mode  = "0755"
  notify    = [restart.shop]
}

symlink "/srv/shop/current" {
  target = "releases/${var.release}"
  notify = [restart.shop]
}

systemd_unit "shop.service" {
  content = <<-END
    [Service]
    User=shop
    ExecStart=/bin/sh /srv/shop/current/run.sh

    [Install]
    WantedBy=multi-user.target
  END
  require = [symlink["/srv/shop/current"], user.shop]
  notify  = [restart.shop]
}

service "shop" {
  running = true
  enabled = true
}

restart "shop" {}

component "ca" {
  source = "std/self_signed_ca"
  vars = {
    certificates = { shop = { names = ["shop.test"] } }
  }
}

component "web" {
  source  = "std/nginx"
  require = [component.ca]
  vars = {
    ipv6 = false
    sites = {
      "shop.test" = {
        root        = "/srv/shop/current/www"
        tls         = "files"
        certificate = component.ca.certificates.shop.chain
        key         = component.ca.certificates.shop.key
      }
      "own.test" = {
        root = "/srv/shop/current/www"
        tls  = "self-signed"
      }
    }
  }
}

component "database" {
  source = "std/postgresql"
  vars = {
    settings  = { work_mem = "8MB" }
    roles     = { shop = {} }
    databases = { shop = { owner = "shop" } }
  }
}

container "counter" {
  image   = "localhost/box:1"
  network = "host"
  running = true
  command = ["sh", "-c", ` + ended + `]
}

line "/etc/profile.d/shop.sh" {
  line   = "export SHOP=/srv/shop"
  create = true
}
`

// withoutKeyring lets podman start a container for who has come over SSH: systemd-nspawn
// gives its hosts' services no keyrings.
const withoutKeyring = "sed -i 's/^.containers.$/&\\nkeyring = false/' /etc/containers/containers.conf\n"

// releaseScript is what a release of the app does: it says which one it is.
const releaseScript = "echo RELEASE > /srv/shop/running; exec sleep infinity\n"

// The hosts of a shop are brought up over SSH, released to twice, and repaired; no row
// of any plan that was certain differs from what the apply did, and what is done is certain.
func TestOperation(t *testing.T) {
	t.Parallel()
	f := ownHosts(t, "shop")
	host := f.hosts[0]
	f.on(host, "apt-get purge -q -y nginx > /dev/null; "+withPodman+withoutKeyring+
		"echo 'deb [trusted=yes] file:"+lab.Parcels+" ./' > /etc/apt/sources.list.d/parcels.list")
	f.site("site", f.asRoot()+shop)
	for _, release := range []string{"one", "two"} {
		files := filepath.Join(f.c.Home(), "site", "files", release)
		if err := os.MkdirAll(filepath.Join(files, "www"), 0o700); err != nil {
			t.Fatal(err)
		}
		f.write(filepath.Join("site", "files", release, "run.sh"), strings.ReplaceAll(releaseScript, "RELEASE", release))
		f.write(filepath.Join("site", "files", release, "www", "index.html"), release+"\n")
	}

	f.foretells("one")
	f.settled("one")
	f.foretells("two")
	f.settled("two")

	// What breaks on servers, all at once.
	f.on(host, `systemctl stop nginx shop
userdel alice
rm /etc/sudoers.d/*alice* /srv/shop/current /etc/ssl/ca/shop.pem
echo spoilt > /srv/shop/releases/two/www/index.html
echo spoilt > /etc/nginx/sites-available/x.conf
podman stop -t 1 counter > /dev/null
runuser -u postgres -- psql -q -c "ALTER ROLE shop NOLOGIN"`)
	f.foretells("two")
	f.settled("two")
	f.foretells("one") // back
	f.settled("one")
}

// settled wants a release to be served in every way, and nothing to be left to do.
func (f *fleet) settled(release string) {
	f.Helper()
	host := f.hosts[0]
	f.eventually(host, 30e9, "grep -qx "+release+" /srv/shop/running")
	for _, name := range []string{"shop.test", "own.test"} {
		got := f.on(host, "curl -fsS -k --resolve "+name+":443:127.0.0.1 https://"+name+"/")
		if got != release {
			f.Errorf("%s serves %q, want %q", name, got, release)
		}
	}
	f.on(host, `sudo -u alice sudo -n true
podman inspect --format '{{.State.Running}}' counter | grep -qx true
runuser -u postgres -- psql -qAtX -c "SELECT rolcanlogin FROM pg_roles WHERE rolname = 'shop'" | grep -qx t`)
	idle := f.tenet("plan", "--json", "--detailed-exitcode", "--var", "release="+release, "site")
	if unsure := uncertain(byAddress(idle.result)); idle.status != 0 || len(unsure) > 0 {
		f.Errorf("%s: the plan of what is done already ended with %d, and is not sure of %q", release, idle.status, unsure)
	}
	again := f.applies(0, "--var", "release="+release, "site")
	if changed := again.changed(); len(changed) > 0 {
		f.Errorf("%s: a second apply changed %q", release, changed)
	}
}

// foretells plans a release and applies it, and wants what was certain to be so.
func (f *fleet) foretells(release string) {
	f.Helper()
	planned := f.tenet("plan", "--json", "--var", "release="+release, "site")
	if planned.status != 0 {
		f.Fatalf("plan of %s: exit status %d\n%s%s", release, planned.status, planned.failures(), planned.stderr)
	}
	applied := f.applies(0, "--var", "release="+release, "site")
	plan, apply := byAddress(planned.result), byAddress(applied.result)
	compareRows(f.T, plan, apply)
	f.Logf("release %s: %d rows, not sure of %d; %d changed", release, len(plan), len(uncertain(plan)), len(applied.changed()))
}

// uncertain gives the addresses of the rows that a plan was not sure of.
func uncertain(plan map[string]states.Event) []string {
	return addresses(slices.Collect(maps.Values(plan)), func(e states.Event) bool { return e.Certain != nil && !*e.Certain })
}
