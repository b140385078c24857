//go:build lab

package labtest

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/states"
)

func TestLifecycleOfDownloads(t *testing.T) {
	t.Parallel()
	m := boot(t)
	sum := func(text string) string { return m.shell("printf '" + text + "' | sha256sum | cut -d' ' -f1") }
	one, two := sum("one"), sum("two")
	lifecycle{
		Type: "download", Label: "/usr/local/bin/tool",
		Prepare: "cd /var/www/html; printf one > one; printf two > two; sha256sum one two > SUMS; systemctl is-active nginx",
		Steps: []step{
			{Set: `url = "http://127.0.0.1/one"
			       checksum = "sha256:` + one + `"`, Verify: `grep -qx one /usr/local/bin/tool && [ "$(stat -c '%U %a' /usr/local/bin/tool)" = "root 644" ]`},
			{Set: `url = "http://127.0.0.1/two"
			       mirrors = ["http://127.0.0.1/none"]
			       checksum = "http://127.0.0.1/SUMS"`, Verify: "grep -qx two /usr/local/bin/tool"},
			{Set: `url = "http://127.0.0.1/none"
			       mirrors = ["http://127.0.0.1:1/", "http://127.0.0.1/one"]
			       checksum = "sha256:` + one + `"`, Verify: "grep -qx one /usr/local/bin/tool"},
			{Set: `url = "http://127.0.0.1/one"
			       owner = "www-data"`, Verify: `[ "$(stat -c %U /usr/local/bin/tool)" = www-data ]`},
			{Set: `url = "http://127.0.0.1/one"
			       group = "www-data"`, Verify: `[ "$(stat -c %G /usr/local/bin/tool)" = www-data ]`},
			{Set: `url = "http://127.0.0.1/one"
			       mode = "0755"`, Verify: `[ "$(stat -c %a /usr/local/bin/tool)" = 755 ]`},
		},
		Gone: "test ! -e /usr/local/bin/tool && test -z \"$(ls -A /var/cache/tenet/download)\"",
	}.run(m)

	// The server's word on the version, by ETag: nothing is sent again, and a new one
	// and an edit are found.
	m.site(`download "/srv/page" { url = "http://127.0.0.1/one" }`)
	m.converges(`download["/srv/page"]`)
	m.until("grep '\"GET /one HTTP/1.1\" 304' /var/log/nginx/access.log") // it was asked whether it has another version
	m.shell("printf three > /var/www/html/one")
	m.converges(`download["/srv/page"]`)
	m.shell("grep -qx three /srv/page; printf edited > /srv/page")
	m.converges(`download["/srv/page"]`)
	m.shell("grep -qx three /srv/page")

	// What is not what it should be is not put in place, and leaves nothing behind.
	m.site(`download "/srv/page" {
	  url      = "http://127.0.0.1/two"
	  checksum = "sha256:` + one + `"
	  retry    = { attempts = 1 }
	}`)
	says(t, m.fails(`download["/srv/page"]`), "is not the file that it should be: its checksum is sha256:"+two)
	m.shell("grep -qx three /srv/page && test \"$(ls -A /srv)\" = page")
}

func TestLifecycleOfGit(t *testing.T) {
	t.Parallel()
	m := boot(t)
	set := func(more string) string { return "url = \"file:///srv/up.git\"\n" + more }
	lifecycle{
		Type: "git", Label: "/srv/site",
		Prepare: `git init -q -b main /srv/src && cd /srv/src && git config user.name a && git config user.email a@example.test
			echo one > f && git add f && git commit -qm one && git tag v1
			echo two > f && git commit -qam two && git tag -a -m two v2
			git clone -q --bare /srv/src /srv/up.git && git clone -q --bare /srv/src /srv/other.git`,
		Steps: []step{
			{Set: set(`ref = "v1"`), Verify: "grep -qx one /srv/site/f"},
			{Set: set(`ref = "v2"
			           depth = 1`), Verify: "grep -qx two /srv/site/f && git -C /srv/site status --porcelain | wc -l | grep -qx 0"},
			{Set: `url = "/srv/other.git"`, Verify: "git -C /srv/site config remote.origin.url | grep -qx /srv/other.git"},
			{Set: set(`commit = "` + "COMMIT" + `"`)},
		},
		Gone: "test ! -e /srv/site",
	}.withCommit(m).run(m)
	// A branch that moves on is followed; what was edited is not lost.
	m.site(`git "/srv/site" {
	  url   = "file:///srv/up.git"
	  ref   = "main"
	  retry = { attempts = 1 }
	}`)
	m.converges(`git["/srv/site"]`)
	m.shell("cd /srv/src && echo three > f && git commit -qam three && git push -q /srv/up.git main && echo mine >> /srv/site/f")
	says(t, m.fails(`git["/srv/site"]`), "holds files that were edited: f")
	m.shell("git -C /srv/site checkout -q f")
	m.converges(`git["/srv/site"]`)
	m.shell("grep -qx three /srv/site/f")

	// Submodules, as the user who owns the checkout, by ssh with a key and a known host.
	m.shell(`useradd -m deploy && cd /srv/src && git -c protocol.file.allow=always submodule add -q /srv/other.git lib && git config -f .gitmodules submodule.lib.url root@127.0.0.1:/srv/other.git
		git commit -qam lib && git push -q /srv/up.git main
		ssh-keygen -q -t ed25519 -N '' -f /srv/key && chown deploy /srv/key && mkdir -p -m 700 /root/.ssh && cat /srv/key.pub >> /root/.ssh/authorized_keys
		systemctl start ssh; until ssh-keyscan 127.0.0.1 > /srv/known 2> /dev/null && test -s /srv/known; do sleep 0.05; done`)
	m.site(`git "/home/deploy/site" {
	  url         = "root@127.0.0.1:/srv/up.git"
	  user        = "deploy"
	  ssh_key     = "/srv/key"
	  known_hosts = "/srv/known"
	  submodules  = true
	}`)
	m.converges(`git["/home/deploy/site"]`)
	m.shell(`grep -qx two /home/deploy/site/lib/f && test -z "$(find /home/deploy/site ! -user deploy)"`)
	m.shell("git config --system safe.directory '*'; git -C /home/deploy/site/lib checkout -q v1; chown -R deploy /home/deploy/site")
	m.converges(`git["/home/deploy/site"]`)
	m.shell("grep -qx two /home/deploy/site/lib/f; sed -i s/ed25519/rsa/ /srv/known")

	// Who is not known is not believed, and a hook of the repository is not run.
	m.shell(`: > /srv/known; printf '#!/bin/sh\ntouch /srv/hooked\n' > /home/deploy/site/.git/hooks-x; mkdir -p /home/deploy/site/.git/hooks
		for h in post-checkout post-merge reference-transaction; do cp /home/deploy/site/.git/hooks-x /home/deploy/site/.git/hooks/$h; chmod 755 /home/deploy/site/.git/hooks/$h; done
		chown -R deploy /home/deploy; chmod 777 /srv`)
	m.site(`git "/home/deploy/site" {
	  url         = "root@127.0.0.1:/srv/up.git"
	  ref         = "v1"
	  ssh_key     = "/srv/key"
	  known_hosts = "/srv/known"
	  retry       = { attempts = 1 }
	}`)
	says(t, m.fails(`git["/home/deploy/site"]`), "Host key verification failed")
	m.shell("ssh-keyscan 127.0.0.1 > /srv/known 2> /dev/null")
	m.converges(`git["/home/deploy/site"]`)
	m.shell("test ! -e /srv/hooked && grep -qx one /home/deploy/site/f")
}

// withCommit puts a commit of the repository into the steps, once it is made.
func (l lifecycle) withCommit(m *machine) lifecycle {
	m.Helper()
	m.shell(l.Prepare)
	l.Prepare = ""
	commit := m.shell("git -C /srv/src rev-parse v1")
	for i := range l.Steps {
		l.Steps[i].Set = strings.ReplaceAll(l.Steps[i].Set, "COMMIT", commit)
	}
	return l
}

func TestLifecycleOfCertificates(t *testing.T) {
	t.Parallel()
	m := boot(t)
	base := "private_key = \"/etc/ssl/private/site.key\"\n"
	says := func(text string) string {
		return "openssl x509 -in /etc/ssl/site.pem -noout -text | grep -q '" + text + "'"
	}
	lifecycle{
		Type: "certificate", Label: "/etc/ssl/site.pem",
		Steps: []step{
			{Set: base + `common_name = "example.test"`, Verify: says("DNS:example.test") + ` && [ "$(stat -c '%U %a' /etc/ssl/private/site.key)" = "root 600" ]`},
			{Set: base + `names = ["example.test", "localhost"]`, Verify: says("DNS:localhost")},
			{Set: base + `addresses = ["127.0.0.1", "2001:db8::1"]`, Verify: says("IP Address:127.0.0.1")},
			{Set: base + `common_name = "Example"
			              names = ["localhost"]`, Verify: says("CN = Example")},
			{Set: base + `organization = "An Example"`, Verify: says("O = An Example")},
			{Set: base + `usage = ["client", "server"]`, Verify: says("TLS Web Client Authentication")},
			{Set: base + `algorithm = "ed25519"`, Verify: says("ED25519")},
			{Set: base + `algorithm = "rsa-2048"`, Verify: says("2048 bit")},
			{Set: base + `algorithm = "ecdsa-p384"`, Verify: says("P-384")},
			{Set: base + `owner = "www-data"`, Verify: `[ "$(stat -c %U /etc/ssl/site.pem /etc/ssl/private/site.key | uniq)" = www-data ]`},
			{Set: base + `group = "www-data"`, Verify: `[ "$(stat -c %G /etc/ssl/site.pem /etc/ssl/private/site.key | uniq)" = www-data ]`},
			{Set: base + `mode = "0640"`, Verify: `[ "$(stat -c %a /etc/ssl/site.pem)" = 640 ]`},
			{Set: base + `key_mode = "0640"`, Verify: `[ "$(stat -c %a /etc/ssl/private/site.key)" = 640 ]`},
			{Set: base + `authority = true`, Verify: says("CA:TRUE")},
			{Set: base + `request = true`, Verify: "openssl req -in /etc/ssl/site.pem -noout -verify"},
		},
		Untried: map[string]string{"chain": "see below"},
		Gone:    "test ! -e /etc/ssl/site.pem && test ! -e /etc/ssl/private/site.key",
	}.run(m)

	signed := "private_key = \"/etc/ssl/private/leaf.key\"\nnames = [\"localhost\"]\nca = \"/root/sub.pem\"\nca_key = \"/root/sub.key\"\n"
	lifecycle{
		Type: "certificate", Label: "/etc/ssl/leaf.pem",
		Prepare: `cd /root && printf 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n' > ca.ext &&
			openssl req -new -newkey rsa:2048 -nodes -subj /CN=Root -keyout ca.key -out ca.csr 2>/dev/null &&
			openssl x509 -req -in ca.csr -signkey ca.key -days 900 -extfile ca.ext -out ca.pem 2>/dev/null &&
			openssl req -new -newkey rsa:2048 -nodes -subj /CN=Sub -keyout sub.key -out sub.csr 2>/dev/null &&
			openssl x509 -req -in sub.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 800 -extfile ca.ext -out sub.pem 2>/dev/null`,
		Steps: []step{
			{Set: signed, Verify: "[ $(grep -c BEGIN /etc/ssl/leaf.pem) = 1 ] && ! openssl verify -CAfile /root/ca.pem -untrusted /etc/ssl/leaf.pem /etc/ssl/leaf.pem"},
			{Set: signed + "chain = true", Verify: "[ $(grep -c BEGIN /etc/ssl/leaf.pem) = 2 ] && openssl verify -CAfile /root/ca.pem -untrusted /etc/ssl/leaf.pem /etc/ssl/leaf.pem"},
			{Set: signed + "chain = false", Verify: "[ $(grep -c BEGIN /etc/ssl/leaf.pem) = 1 ]"},
		},
		Untried: map[string]string{
			"request": "see above", "common_name": "see above", "organization": "see above", "names": "see above", "addresses": "see above",
			"usage": "see above", "authority": "see above", "algorithm": "see above", "owner": "see above", "group": "see above",
			"mode": "see above", "key_mode": "see above",
		},
		Gone: "test ! -e /etc/ssl/leaf.pem && test ! -e /etc/ssl/private/leaf.key",
	}.run(m)

	// nginx answers with one that an authority of the same site has signed; it is
	// renewed in time, and nginx told.
	site := `
	certificate "/etc/ssl/ca.pem" {
	  private_key = "/etc/ssl/private/ca.key"
	  common_name = "Lab"
	  names       = []
	  authority   = true
	}
	certificate "/etc/ssl/site.pem" {
	  private_key = "/etc/ssl/private/site.key"
	  names       = ["localhost"]
	  ca          = "/etc/ssl/ca.pem"
	  ca_key      = "/etc/ssl/private/ca.key"
	  days        = 40
	  renew_days  = RENEW
	  require     = [certificate["/etc/ssl/ca.pem"]]
	  notify      = [reload.nginx]
	}
	file "/etc/nginx/conf.d/site.conf" {
	  content = "server { listen 443 ssl; ssl_certificate /etc/ssl/site.pem; ssl_certificate_key /etc/ssl/private/site.key; return 200 secure; }\n"
	  require = [certificate["/etc/ssl/site.pem"]]
	  notify  = [reload.nginx]
	}
	reload "nginx" {}
	http "secure" {
	  url     = "https://localhost/"
	  ca      = "/etc/ssl/ca.pem"
	  matches = "^secure$"
	  retry   = { attempts = 300, delay = "100ms" }
	  require = [file["/etc/nginx/conf.d/site.conf"], certificate["/etc/ssl/site.pem"]]
	}`
	m.site(strings.Replace(site, "RENEW", "10", 1))
	m.converges(`certificate["/etc/ssl/ca.pem"]`, `certificate["/etc/ssl/site.pem"]`, `file["/etc/nginx/conf.d/site.conf"]`, "reload.nginx#1", "reload.nginx#2")
	m.shell("openssl verify -CAfile /etc/ssl/ca.pem /etc/ssl/site.pem && nginx -t -q")
	before := m.shell("sha256sum /etc/ssl/private/site.key; openssl x509 -in /etc/ssl/site.pem -noout -pubkey")
	// What it was issued for counts, not what it would be issued for now.
	m.shell("openssl x509 -in /etc/ssl/site.pem -noout -serial > /srv/serial")
	m.site(strings.NewReplacer("RENEW", "10", "days        = 40", "days        = 400").Replace(site))
	if changed := m.apply(); len(changed) > 0 {
		t.Errorf("to be valid for longer is no reason for a new one, but %q changed", changed)
	}
	m.site(strings.NewReplacer("RENEW", "50", "days        = 40", "days        = 400").Replace(site))
	plan := m.tenet("plan")
	for _, e := range plan.parts() {
		if e.Key == "/etc/ssl/site.pem" && (len(e.Changes) != 1 || e.Changes[0].Attribute != "expires" || e.Action != states.Update) {
			t.Errorf("the plan says %s, %v", e.Action, e.Changes)
		}
	}
	m.shell("test -s /srv/serial")
	m.converges(`certificate["/etc/ssl/site.pem"]`, "reload.nginx#1")
	if after := m.shell("sha256sum /etc/ssl/private/site.key; openssl x509 -in /etc/ssl/site.pem -noout -pubkey"); after != before {
		t.Error("the key is another")
	}
	m.shell(`! openssl x509 -in /etc/ssl/site.pem -noout -serial | cmp -s - /srv/serial`)
}

// logged wants a line in nginx's log, which it writes when it has answered.
const logged = `logged() { for i in $(seq 600); do grep -q "$1" /var/log/nginx/access.log && return; sleep 0.1; done; return 1; }; logged `

func TestLifecycleOfRequests(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "http", Label: "hello",
		Prepare: `echo 'server { listen 8080; client_max_body_size 1k; location /made { return 201 "made\n"; } location /ready { root /srv; } location / { return 200 "you sent $request_method $http_x_key\n"; } }' > /etc/nginx/conf.d/answers.conf
			nginx -t -q && systemctl reload nginx && until curl -fsS http://127.0.0.1:8080/ > /dev/null; do sleep 0.05; done`,
		Steps: []step{
			{Set: `url = "http://127.0.0.1:8080/made"
			       method = "POST"
			       json = { name = "x" }
			       expect = ["201"]`, Verify: logged + `'"POST /made HTTP/1.1" 201'`},
			{Set: `url = "http://127.0.0.1:8080/made"
			       method = "DELETE"
			       matches = "^made\n$"`, Verify: logged + `'"DELETE /made HTTP/1.1" 201'`},
		},
	}.run(m)

	// What only reads is asked in a plan, and its answer is of use to others.
	m.site(`
	http "asked" {
	  url     = "http://127.0.0.1:8080/x"
	  headers = { X-Key = "secret" }
	}
	file "/srv/answer" {
	  content = "${http.asked.status} ${http.asked.body}"
	}`)
	m.converges(`file["/srv/answer"]`)
	m.shell("grep -qx '200 you sent GET secret' /srv/answer")

	m.site(`http "asked" { url = "http://127.0.0.1:8080/none/" }
	wait_for "port" {
	  port  = 8080
	  every = "50ms"
	}
	wait_for "path" { path = "/srv/answer" }
	wait_for "nobody" {
	  port = 1
	  gone = true
	}
	assert "answered" {
	  that = http.asked.status == 200
	}`)
	m.converges()
	for _, e := range m.tenet("plan").parts() {
		if e.Action != states.NoChange {
			t.Errorf("the plan says %s of %s (%s)", e.Action, e.Address, e.Reason)
		}
	}

	// What is not yet is awaited, and a plan cannot know.
	m.site(`wait_for "ready" {
	  url     = "http://127.0.0.1:8080/ready"
	  matches = "yes"
	  every   = "50ms"
	  within  = "60s"
	}`)
	for _, e := range m.tenet("plan").parts() {
		if e.Action != states.Execute || *e.Certain || !strings.Contains(e.Reason, "it waits until http://127.0.0.1:8080/ready answers as expected") {
			t.Errorf("the plan says %s (%s)", e.Action, e.Reason)
		}
	}
	m.shell("(sleep 1; echo yes > /srv/ready) > /dev/null 2>&1 &")
	m.converges()

	m.site(`wait_for "never" {
	  port   = 1
	  every  = "50ms"
	  within = "200ms"
	}`)
	says(t, m.fails("wait_for.never"), "it waited 200ms until somebody listens at 127.0.0.1:1", "the connection was refused")
	m.site(`assert "no" {
	  that    = 1 > 2
	  message = "one is less than two"
	}`)
	says(t, m.fails("assert.no"), "one is less than two")
	m.site(`http "none" { url = "http://127.0.0.1:8080/ready/x" }`)
	says(t, m.fails("http.none"), "was answered by status 404, not 2xx")
	m.site(`http "unknown" { url = "http://nobody.invalid/" }`)
	if e := m.fails("http.unknown"); !strings.Contains(e.Error.Message, `the name "nobody.invalid"`) {
		t.Errorf("it says %q", e.Error.Message)
	}
}

// A command gets what is written, as whom and where it is written, and judges by what
// it said.
func TestLifecycleOfCommands(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell(`useradd -m deploy; printf '#!/bin/sh\nprintf "%%s|" "$@" "$A" "$(id -un)" "$PWD" "$(cat)"\n' > /usr/local/bin/say; chmod +x /usr/local/bin/say`)
	// The directory that a command works in is set up before, wherever that is declared.
	m.site(`
	command "say" {
	  argv  = ["say", "$(touch /srv/hostile)", "-x", "a b\nc", "ü'\""]
	  env   = { A = "; touch /srv/hostile" }
	  dir   = "/srv/work"
	  user  = "deploy"
	  stdin = "secret"
	}
	file "/srv/said" {
	  content = command.say.stdout
	}
	state "later" {
	  directory "/srv/work" {
	    owner = "deploy"
	  }
	}`)
	if got := m.apply(); !strings.Contains(strings.Join(got, " "), "command.say") {
		t.Errorf("changed %q", got)
	}
	want := "$(touch /srv/hostile)|-x|a b\nc|ü'\"|; touch /srv/hostile|deploy|/srv/work|secret|"
	if got := m.shell("cat /srv/said; test ! -e /srv/hostile"); got != want {
		t.Errorf("it got %q, want %q", got, want)
	}
	m.site(`
	command "make" {
	  shell   = "touch /srv/made && echo $HOME"
	  creates = "/srv/made"
	}
	command "clear" {
	  argv    = ["rm", "/srv/said"]
	  removes = "/srv/said"
	}
	command "same" {
	  argv       = ["echo", "up to date"]
	  changed_if = trimspace(result.stdout) != "up to date"
	}
	command "diff" {
	  argv      = ["diff", "/etc/passwd", "/etc/group"]
	  failed_if = result.exit_code > 1
	  plan      = true
	}`)
	m.converges("command.make", "command.clear")
	m.site(`command "diff" {
	  argv      = ["diff", "/etc/passwd", "/etc/none"]
	  failed_if = result.exit_code > 1
	}`)
	says(t, m.fails("command.diff"), "its failed_if holds")
}
