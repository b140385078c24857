//go:build lab

package labtest

import (
	"fmt"
	"strings"
	"testing"
)

// Two keys for the tests, of which nobody has the private half.
const (
	keyA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63"
	keyB = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICrFlLYYldOmS3Eh3mCy1N9cbhisWPDQITX3r1Q7kt2E"
)

func TestLifecycleOfAccounts(t *testing.T) {
	t.Parallel()
	m := boot(t)
	all := ""
	add := func(set string) string { all += set + "\n"; return all }
	lifecycle{
		Type: "group", Label: "project", Beside: "user \"alice\" {}\n",
		Steps: []step{
			{Set: `gid = 4242`, Verify: `[ "$(getent group project)" = project:x:4242: ]`},
			{Set: `gid = 4343`, Verify: `[ "$(getent group project)" = project:x:4343: ]`},
			{Set: `members = ["alice", "www-data"]`, Verify: `[ "$(getent group project)" = project:x:4343:alice,www-data ] && grep -q '^project:!.*:alice,www-data$' /etc/gshadow`},
		},
		Gone: "! getent group project && ! grep ^project: /etc/gshadow",
	}.run(m)
	lifecycle{
		Type: "user", Label: "deploy", Prepare: "touch /etc/skel/greeting; groupadd -g 3000 team",
		Steps: []step{
			{Set: ``, Verify: `[ "$(stat -c %U ~deploy/greeting)" = deploy ] && [ "$(id -gn deploy)" = deploy ]`},
			{Set: add(`uid = 4711`), Verify: `[ "$(id -u deploy)" = 4711 ] && [ "$(stat -c %U ~deploy/greeting)" = deploy ]`},
			{Set: add(`group = "team"`), Verify: `[ "$(id -gn deploy)" = team ]`},
			{Set: add(`groups = ["adm", "www-data"]`), Verify: `[ "$(id -Gn deploy)" = "team adm www-data" ] && grep -q '^adm:.*deploy' /etc/gshadow`},
			{Set: add(`comment = "De Plöy"`), Verify: `[ "$(getent passwd deploy | cut -d: -f5)" = "De Plöy" ]`},
			{Set: add("home = \"/srv/deploy\"\nmove_home = true"), Verify: `test -e /srv/deploy/greeting && ! test -e /home/deploy`},
			{Set: add(`shell = "/bin/bash"`), Verify: `[ "$(getent passwd deploy | cut -d: -f7)" = /bin/bash ]`},
			{Set: add(`password = "$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g."`), Verify: `grep -q '^deploy:[$]6[$]salt' /etc/shadow`},
			{Set: add(`locked = true`), Verify: `[ "$(passwd -S deploy | cut -d' ' -f2)" = L ]`},
			{Set: add(`expires = "2030-12-31"`), Verify: `chage -l deploy | grep -q 'Account expires.*Dec 31, 2030'`},
			{Set: strings.Replace(all, `groups = ["adm", "www-data"]`, "groups = [\"users\"]\nappend = true", 1), Verify: `[ "$(id -Gn deploy)" = "team adm www-data users" ]`},
		},
		Gone: "! getent passwd deploy && ! grep ^deploy: /etc/shadow && test -e /srv/deploy/greeting",
	}.run(m)
}

// What userdel and usermod would refuse is told before, in a plan, too.
func TestUserWithPrograms(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("useradd -m alice && { setsid runuser -u alice -- sleep 1000 > /dev/null 2>&1 & }")
	m.until("pgrep -u alice -x sleep")
	m.site("user \"alice\" {\n  ensure = \"absent\"\n}\n")
	for _, args := range [][]string{{"plan"}, {"apply", "--yes"}} {
		if r := m.tenet(args...); r.status != 1 || !strings.Contains(r.failures(), "(sleep); stop them first") {
			t.Errorf("%v: exit status %d\n%s", args, r.status, r.failures())
		}
	}
	m.shell("getent passwd alice && pkill -u alice && while pgrep -u alice; do sleep 0.1; done; true")
	m.converges("user.alice")
}

func TestLifecycleOfAccess(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "authorized_keys", Label: "alice", Beside: "user \"alice\" {}\n",
		Steps: []step{
			{Set: `keys = ["` + keyA + ` a"]`, Verify: `[ "$(stat -c '%U %a' ~alice/.ssh ~alice/.ssh/authorized_keys | tr '\n' ' ')" = "alice 700 alice 600 " ] && ssh-keygen -l -f ~alice/.ssh/authorized_keys`},
			{Set: `keys = ["restrict ` + keyA + ` a"]`, Verify: `grep -q '^restrict ' ~alice/.ssh/authorized_keys`},
			{Set: `keys = ["` + keyB + `"]` + "\nexclusive = true", Verify: `[ "$(cat ~alice/.ssh/authorized_keys)" = "` + keyB + `" ]`},
		},
		Gone: "! test -e ~alice/.ssh/authorized_keys",
	}.run(m)
	// sshd itself takes a key from there, with StrictModes.
	lifecycle{
		Type: "authorized_keys", Label: "alice",
		Beside: "user \"alice\" {\n  shell = \"/bin/bash\"\n}\ndirectory \"/etc/ssh/keys\" {\n  owner = \"root\"\n  mode = \"0755\"\n}\n",
		Prepare: "rm -f /root/key /root/key.pub && ssh-keygen -q -t ed25519 -N '' -f /root/key" +
			" && printf 'AuthorizedKeysFile /etc/ssh/keys/%%u\\nStrictModes yes\\n' > /etc/ssh/sshd_config.d/keys.conf && systemctl restart ssh",
		Steps: []step{
			{Set: "path = \"/etc/ssh/keys/alice\"\nkeys = [\"" + keyA + " a\"]", Verify: `[ "$(stat -c '%U %G %a' /etc/ssh/keys/alice)" = "root root 644" ] && ! test -e ~alice/.ssh/authorized_keys`},
			{Set: "path = \"/etc/ssh/keys/alice\"\nkeys = [\"" + keyB + "\"]\nexclusive = true", Verify: `[ "$(cat /etc/ssh/keys/alice)" = "` + keyB + `" ] && cat /root/key.pub >> /etc/ssh/keys/alice && ` +
				ssh + `alice@127.0.0.1 true && sed -i 2d /etc/ssh/keys/alice`},
		},
		Gone: "! test -e /etc/ssh/keys/alice && rm /etc/ssh/sshd_config.d/keys.conf && systemctl restart ssh",
	}.run(m)
	known := `keys = ["` + keyA + `"]`
	lifecycle{
		Type: "known_host", Label: "git.test", Prepare: "printf 'git.test " + keyB + "\\n' > /etc/ssh/ssh_known_hosts && ssh-keygen -H -f /etc/ssh/ssh_known_hosts && chmod 0644 /etc/ssh/ssh_known_hosts && rm /etc/ssh/*.old",
		Found: true,
		Steps: []step{
			{Set: known, Verify: `[ "$(ssh-keygen -F git.test -f /etc/ssh/ssh_known_hosts | tail -1)" = "git.test ` + keyA + `" ]`},
			{Set: `keys = ["` + keyB + `"]`, Verify: `! grep ` + strings.Fields(keyA)[1] + ` /etc/ssh/ssh_known_hosts`},
			{Set: `keys = ["` + keyB + `"]` + "\nhashed = true", Verify: `! grep git.test /etc/ssh/ssh_known_hosts && ssh-keygen -F git.test -f /etc/ssh/ssh_known_hosts`},
		},
		Gone: "! ssh-keygen -F git.test -f /etc/ssh/ssh_known_hosts",
	}.run(m)
	lifecycle{
		Type: "known_host", Label: "[git.test]:2222", Beside: "user \"alice\" {}\n",
		Steps: []step{
			{Set: "user = \"alice\"\n" + known, Verify: `ssh-keygen -F '[git.test]:2222' -f ~alice/.ssh/known_hosts && [ "$(stat -c '%U %a' ~alice/.ssh/known_hosts)" = "alice 600" ]`},
			{Set: "user = \"alice\"\nkeys = [\"" + keyB + `"]`},
			{Set: "user = \"alice\"\nhashed = true\nkeys = [\"" + keyB + `"]`, Verify: `! grep git.test ~alice/.ssh/known_hosts && ssh-keygen -F '[git.test]:2222' -f ~alice/.ssh/known_hosts`},
		},
		Gone: "! test -e ~alice/.ssh/known_hosts",
	}.run(m)
	lifecycle{
		Type: "sudoers", Label: "alice", Beside: "user \"alice\" {}\n",
		Steps: []step{
			{Set: "users = [\"alice\"]\ncommands = [\"/usr/bin/id -u\"]\nnopasswd = true", Verify: `[ "$(stat -c '%U %G %a' /etc/sudoers.d/alice)" = "root root 440" ] && visudo -c && [ "$(runuser -u alice -- sudo -n /usr/bin/id -u)" = 0 ]`},
			{Set: `content = "alice ALL=(www-data) NOPASSWD: ALL\n"`, Verify: `! runuser -u alice -- sudo -n /usr/bin/id -u && [ "$(runuser -u alice -- sudo -n -u www-data /usr/bin/id -un)" = www-data ]`},
		},
		Gone: "! test -e /etc/sudoers.d/alice && visudo -c && ! runuser -u alice -- sudo -n -u www-data /usr/bin/id",
	}.run(m)
}

// A user whose keys are declared can log in, and cannot once they are absent; what
// sudo allows then is what is declared, and nothing else.
func TestLoginWithKey(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("ssh-keygen -q -t ed25519 -N '' -C root@lab -f /root/key && systemctl is-active ssh")
	key := m.shell("cat /root/key.pub")
	const site = `
user "deploy" {
  shell = "/bin/bash"
}

authorized_keys "deploy" {
  require = [user.deploy]
  keys    = ["%s"]
  ensure  = "%s"
}

known_host "127.0.0.1" {
  keys = ["%s"]
}

sudoers "deploy" {
  users    = ["deploy"]
  commands = ["/usr/bin/cat /etc/shadow", "/usr/bin/id \"\""]
  nopasswd = true
}
`
	of := m.shell("cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub")
	m.site(fmt.Sprintf(site, key, "present", of))
	plan := m.tenet("plan")
	for _, e := range plan.parts() {
		if e.Certain == nil || !*e.Certain {
			t.Errorf("the plan is not certain of %s: %s", e.Address, e.Reason)
		}
	}
	m.converges("authorized_keys.deploy", `known_host["127.0.0.1"]`, "sudoers.deploy", "user.deploy")
	const login = "ssh -n -o BatchMode=yes -o StrictHostKeyChecking=yes -i /root/key deploy@127.0.0.1 "
	m.gives(login+"id -un", "deploy")
	m.gives(login+"sudo -n cat /etc/shadow | head -1 | cut -d: -f1", "root")
	m.gives(login+"sudo -n id | cut -d' ' -f1", "uid=0(root)")
	for _, other := range []string{"cat /etc/gshadow", "cat /etc/shadow /etc/gshadow", "id -u", "ls", "-u www-data id"} {
		m.shell("! " + login + "sudo -n " + other)
	}
	m.site(fmt.Sprintf(site, key, "absent", of))
	m.converges("authorized_keys.deploy")
	m.shell("! " + login + "true")
}

// What a user puts in the way of root leads root nowhere.
func TestKeysThroughLinks(t *testing.T) {
	t.Parallel()
	m := boot(t)
	m.shell("useradd -m alice && useradd -m bob")
	m.site("authorized_keys \"alice\" {\n  keys = [\"" + keyA + "\"]\n}\n")
	before := m.shell("find /root /etc /home/bob -exec stat -c '%n %U %a' {} + | sort | sha256sum")
	for _, trap := range []string{
		"ln -s /root ~alice/.ssh", "ln -s /etc ~alice/.ssh", "ln -s /home/bob ~alice/.ssh", "mkfifo ~alice/.ssh", "ln -s /nothing ~alice/.ssh",
		"mkdir ~alice/.ssh; ln -s /etc/shadow ~alice/.ssh/authorized_keys", "mkdir ~alice/.ssh; ln -s /etc/new ~alice/.ssh/authorized_keys",
		"mkdir ~alice/.ssh; mkfifo ~alice/.ssh/authorized_keys", "mkdir -p ~alice/.ssh/authorized_keys",
	} {
		m.shell("rm -rf ~alice/.ssh; runuser -u alice -- sh -c '" + strings.ReplaceAll(trap, "~alice", "/home/alice") + "'")
		m.fails("authorized_keys.alice")
	}
	if after := m.shell("find /root /etc /home/bob -exec stat -c '%n %U %a' {} + | sort | sha256sum"); after != before {
		t.Error("something of others has changed")
	}
}
