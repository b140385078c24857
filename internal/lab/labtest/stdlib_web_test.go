//go:build lab

package labtest

import (
	"strings"
	"testing"
	"testing/fstest"
)

// issuer is a client of an issuer of certificates, which wants to see the live
// site before it signs: issue-cert DOMAIN.
const issuer = `#!/bin/sh
set -e
dir=/var/www/challenges/.well-known/acme-challenge
mkdir -p "$dir" /etc/issued
echo "$1" > "$dir/token"
try=0
until [ "$(curl -fsS --resolve "$1:80:127.0.0.1" "http://$1/.well-known/acme-challenge/token")" = "$1" ]; do
	try=$((try + 1))
	[ $try -lt 600 ] || exit 1
	sleep 0.1
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj "/CN=$1" \
	-addext "subjectAltName=DNS:$1" -keyout /etc/issued/$1.key -out /etc/issued/$1.pem
`

const web = `
component "ca" {
  source = "std/self_signed_ca"
  notify = [reload.nginx]
  vars = {
    trust = true
    certificates = {
      inner = { names = ["inner.test", "127.0.0.1"] }
    }
  }
}

component "web" {
  source  = "std/nginx"
  require = [component.ca]
  vars = {
    ipv6 = false
    sites = {
      "plain.test" = {
        root = "/srv/plain"
      }
      "own.test" = {
        root     = "/srv/own"
        tls      = "self-signed"
        settings = "add_header X-Lab yes;\nserver_tokens off;"
      }
      issued = {
        domains     = ["issued.test"]
        proxy       = "http://127.0.0.1:80"
        tls         = "command"
        command     = ["/usr/local/bin/issue-cert", "issued.test"]
        certificate = "/etc/issued/issued.test.pem"
        key         = "/etc/issued/issued.test.key"
      }
    }
  }
}

component "inner" {
  source  = "std/nginx"
  require = [component.ca]
  vars = {
    ipv6 = false
    sites = {
      "inner.test" = {
        root        = "/srv/inner"
        tls         = "files"
        certificate = component.ca.certificates.inner.chain
        key         = component.ca.certificates.inner.key
        http        = "serve"
      }
    }
  }
}

reload "nginx" {}
`

func TestStdlibWeb(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	m.copy(fstest.MapFS{"issue-cert": {Data: []byte(issuer), Mode: 0o755}}, "/usr/local/bin")
	m.shell("for s in plain own inner; do mkdir -p /srv/$s; echo $s > /srv/$s/index.html; done; ls /etc/nginx/sites-enabled/default")
	since := m.shell("date +%s")
	m.settles(web)

	ask := func(name, scheme, port, options string) string {
		return "curl -sS " + options + " --resolve " + name + ":" + port + ":127.0.0.1 " + scheme + "://" + name + "/"
	}
	m.gives(ask("plain.test", "http", "80", "-f"), "plain")
	m.gives(ask("own.test", "http", "80", "-o /dev/null -w '%{http_code} %{redirect_url}'"), "301 https://own.test/")
	m.gives(ask("own.test", "https", "443", "-f --cacert /etc/ssl/sites/own.test.self-signed.pem"), "own")
	m.gives(ask("own.test", "https", "443", "-k -o /dev/null -w '%header{x-lab}'"), "yes")
	m.gives(ask("issued.test", "https", "443", "-k -o /dev/null -w '%{http_code}'"), "301") // it proxies to itself, over http
	m.gives(ask("inner.test", "http", "80", "-f"), "inner")
	m.gives(ask("inner.test", "https", "443", "-f"), "inner") // trusted by the host
	m.gives("stat -c '%a %U %n' /etc/ssl/sites/own.test.self-signed.key /etc/ssl/ca/ca.key /etc/ssl/ca/inner.key",
		"600 root /etc/ssl/sites/own.test.self-signed.key\n600 root /etc/ssl/ca/ca.key\n640 root /etc/ssl/ca/inner.key")
	m.gives("ls /etc/nginx/sites-enabled", "")
	// For the authority, then for each component once with the plain sites and once
	// with the others; inner has its certificate from the start.
	reloads := func() string {
		return m.shell("journalctl --sync; journalctl -u nginx --since @" + since + " -o cat | grep -c '^Reloaded '")
	}
	if got := reloads(); got != "4" {
		t.Errorf("nginx was reloaded %s times, want 4", got)
	}

	// A certificate that ends soon is made anew, and costs one reload.
	before := reloads()
	m.shell("cd /etc/ssl/sites && openssl x509 -in own.test.self-signed.pem -signkey own.test.self-signed.key -days 5 -out x.pem && mv x.pem own.test.self-signed.pem")
	m.converges(`component.web.state.renewal["own.test"].command.issue`, "component.web.state.reload#2.reload.nginx")
	m.shell("openssl x509 -checkend $((86400 * 80)) -noout -in /etc/ssl/sites/own.test.self-signed.pem")
	if got := reloads(); got == before {
		t.Error("nginx was not reloaded")
	}

	// What nginx refuses does not stay, and the others go on.
	m.site(strings.Replace(web, "server_tokens off;", "no_such_directive on;", 1))
	r := m.tenet("apply", "--yes")
	if r.status != 1 || !strings.Contains(r.failures(), "no_such_directive") {
		t.Errorf("exit status %d\n%s", r.status, r.failures())
	}
	m.shell("nginx -t -q")
	m.gives(ask("own.test", "https", "443", "-f --cacert /etc/ssl/sites/own.test.self-signed.pem"), "own")

	m.takesAway(web)
	m.gives("ls /etc/nginx/conf.d; systemctl is-active nginx; ls /etc/ssl/ca/ca.key /srv/plain/index.html; ls /usr/local/share/ca-certificates",
		"active\n/etc/ssl/ca/ca.key\n/srv/plain/index.html")
	m.until("! " + ask("plain.test", "http", "80", "-f") + " && ! curl -sf http://127.0.0.1/")
	m.shell("! openssl verify /etc/ssl/ca/inner.pem && openssl verify -CAfile /etc/ssl/ca/ca.pem /etc/ssl/ca/inner.pem")
}

func TestStdlibSelfSignedCA(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	const site = `
component "ca" {
  source = "std/self_signed_ca"
  vars = {
    name = "Lab CA"
    certificates = {
      web = { names = ["web.test", "192.0.2.1", "::1"] }
      db  = { names = ["*.db.test"], owner = "www-data", days = 100, renew_days = 90 }
    }
  }
}
`
	m.settles(site)
	sums := func() string { return m.shell("cd /etc/ssl/ca && sha256sum ca.key web.key db.key") }
	keys := sums()
	m.gives("cd /etc/ssl/ca && openssl verify -CAfile ca.pem web.pem db.pem && openssl x509 -noout -ext subjectAltName -in web.pem | tail -1 | tr -d ' '",
		"web.pem: OK\ndb.pem: OK\nDNS:web.test,IPAddress:192.0.2.1,IPAddress:0:0:0:0:0:0:0:1")
	m.gives("stat -c '%a %U' /etc/ssl/ca/ca.key /etc/ssl/ca/db.key; ls -A /etc/ssl/ca | sort | tr '\\n' ' '",
		"600 root\n640 www-data\nca.cnf ca.key ca.pem ca.signed db.chain.pem db.cnf db.key db.pem db.signed web.chain.pem web.cnf web.key web.pem web.signed")
	serial := func(name string) string {
		return m.shell("openssl x509 -noout -serial -in /etc/ssl/ca/" + name + ".pem")
	}
	ca, web, db := serial("ca"), serial("web"), serial("db")

	// Other names: that certificate, and no other.
	m.settles(strings.Replace(site, `"::1"`, `"www.web.test"`, 1))
	if serial("web") == web || serial("db") != db || serial("ca") != ca {
		t.Error("the wrong certificates were signed anew")
	}
	// Another name of the authority: all certificates, with the same keys.
	m.settles(strings.Replace(site, "Lab CA", "Other CA", 1))
	m.shell("cd /etc/ssl/ca && openssl verify -CAfile ca.pem web.pem db.pem && openssl x509 -noout -issuer -in db.pem | grep 'Other CA'")
	if got := sums(); got != keys {
		t.Errorf("the keys were\n%s\nand are\n%s", keys, got)
	}
	// It ends soon.
	m.shell("cd /etc/ssl/ca && openssl x509 -in db.pem -CA ca.pem -CAkey ca.key -days 80 -out x 2>/dev/null; mv x db.pem")
	m.settles(strings.Replace(site, "Lab CA", "Other CA", 1))
	m.shell("openssl x509 -checkend $((86400 * 95)) -noout -in /etc/ssl/ca/db.pem")
	// A certificate that is gone, and one of somebody else.
	m.shell("cd /etc/ssl/ca && rm web.pem && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout /tmp/k -out db.pem")
	m.settles(strings.Replace(site, "Lab CA", "Other CA", 1))
	m.shell("cd /etc/ssl/ca && openssl verify -CAfile ca.pem web.pem db.pem")
	if got := sums(); got != keys {
		t.Errorf("the keys were\n%s\nand are\n%s", keys, got)
	}
	m.takesAway(site)
	if got := sums(); got != keys {
		t.Errorf("taken away: the keys were\n%s\nand are\n%s", keys, got)
	}
}

func TestStdlibPostgreSQL(t *testing.T) {
	t.Parallel()
	m := stocked(t)
	const site = `
component "database" {
  source = "std/postgresql"
  vars = {
    settings = {
      work_mem        = "8MB"
      max_connections = "42"
      log_line_prefix = "it's %m |"
    }
    access = [
      { type = "local", method = "peer" },
      { address = "127.0.0.1/32" },
    ]
    roles = {
      app      = { createdb = true }
      reporter = { login = false, member_of = ["pg_read_all_data", "app"] }
    }
    passwords = {
      app = "it's \\ se$cret"
    }
    databases = {
      app = { owner = "app", extensions = ["plpgsql", "tcn"] }
    }
  }
}
`
	m.settles(site)
	psql := func(query string) string { return "runuser -u postgres -- psql -qAtX -c \"" + query + "\"" }
	m.gives(psql("SELECT current_setting('work_mem'), current_setting('max_connections'), current_setting('log_line_prefix')"), "8MB|42|it's %m |")
	m.gives(psql("SELECT rolname, rolcanlogin, rolcreatedb FROM pg_roles WHERE rolname IN ('app', 'reporter') ORDER BY 1"), "app|t|t\nreporter|f|f")
	m.gives(psql("SELECT datname, pg_get_userbyid(datdba), pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'app'"), "app|app|UTF8")
	m.gives(psql("SELECT pg_has_role('reporter', 'app', 'MEMBER'), pg_has_role('reporter', 'pg_read_all_data', 'MEMBER')"), "t|t")
	m.gives("runuser -u postgres -- psql -qAtX app -c \"SELECT extname FROM pg_extension ORDER BY 1\"", "plpgsql\ntcn")

	const login = `PGPASSWORD="it's \\ se\$cret" psql -h 127.0.0.1 -U app -qAtX -c "SELECT current_user"`
	m.gives(login, "app")
	m.shell("! PGPASSWORD=other psql -h 127.0.0.1 -U app -c 'SELECT 1'")
	for _, change := range []string{
		"ALTER ROLE app PASSWORD 'other'", "ALTER ROLE app PASSWORD NULL", "SET password_encryption = md5; ALTER ROLE app PASSWORD 'other'",
	} {
		m.shell(psql(change))
		m.converges(`component.database.state.password["app"].command.set`)
		m.gives(login, "app")
	}
	m.shell("! grep -rl -e 'se.cret' /var/log/postgresql /var/lib/tenet /var/log/apt && ! journalctl | grep -q 'se.cret'")

	// What somebody has changed is changed back; the rest is left alone.
	m.shell(psql("ALTER ROLE app NOCREATEDB; CREATE ROLE other; ALTER DATABASE app OWNER TO other"))
	m.converges(`component.database.state.role["app"].command.role`, `component.database.state.database["app"].command.owner`)
	m.gives(psql("SELECT count(*) FROM pg_roles WHERE rolname = 'other'"), "1")

	// What the server refuses does not stay.
	started := m.shell(psql("SELECT pg_postmaster_start_time()"))
	m.site(strings.Replace(site, `"8MB"`, `"much"`, 1))
	says(t, m.fails("component.database.state.settings.file.reload"), "work_mem")
	m.site(strings.Replace(site, `method = "peer"`, `method = "no-such-method"`, 1))
	m.fails("component.database.state.settings.file.access")
	m.gives(psql("SELECT count(*) FROM pg_hba_file_rules WHERE error IS NOT NULL"), "0")
	m.settles(strings.Replace(site, `"8MB"`, `"9MB"`, 1))
	m.gives(psql("SELECT current_setting('work_mem')"), "9MB")
	m.gives(psql("SELECT pg_postmaster_start_time()"), started) // reloaded, not restarted
	m.settles(strings.Replace(site, `"42"`, `"43"`, 1))
	m.gives(psql("SELECT current_setting('max_connections')"), "43")

	m.takesAway(site)
	m.gives(psql("SELECT datname FROM pg_database WHERE datname = 'app'"), "app")
	m.shell("test ! -e /etc/postgresql/15/main/conf.d/50-tenet.conf")
	m.gives(psql("SELECT current_setting('work_mem'), current_setting('max_connections')"), "4MB|100")

	// A second cluster beside it.
	m.settles(`
component "other" {
  source = "std/postgresql"
  vars = {
    cluster = "other"
    databases = {
      notes = {}
    }
  }
}
`)
	m.gives("runuser -u postgres -- psql --cluster 15/other -qAtX -c \"SELECT datname FROM pg_database WHERE datname = 'notes'\"", "notes")
}
