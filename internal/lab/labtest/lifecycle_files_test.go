//go:build lab

package labtest

import "testing"

func TestLifecycleOfTrees(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "tree", Label: "/srv/www",
		Prepare: `mkdir -p /root/site/files/www/bin /root/site/files/next
			printf 'hello\n' > /root/site/files/www/index.html; chmod 640 /root/site/files/www/index.html
			printf '#!/bin/sh\n' > /root/site/files/www/bin/run; chmod 755 /root/site/files/www/bin/run
			ln -s /etc/passwd /root/site/files/www/link; touch "$(printf '/root/site/files/www/a\nb')"
			printf 'bye\n' > /root/site/files/next/index.html`,
		Steps: []step{
			{Set: `source = "files/www"`, Verify: `diff -r --no-dereference /root/site/files/www /srv/www && [ "$(stat -c %a /srv/www/index.html /srv/www/bin/run | tr '\n' ' ')" = "640 755 " ] && [ -L /srv/www/link ]`},
			{Set: `source = "files/next"`, Verify: `grep -qx bye /srv/www/index.html && test -x /srv/www/bin/run`},
			{Set: "source = \"files/next\"\nowner = \"www-data\"\ngroup = \"www-data\"", Verify: `[ "$(stat -c '%U %G' /srv/www/index.html)" = "www-data www-data" ] && [ "$(stat -c %U /srv/www/bin)" = root ]`},
			{Set: "source = \"files/www\"\nfile_mode = \"0600\"\ndir_mode = \"0700\"\nexclude = [\"a*\"]", Verify: `[ "$(stat -c %a /srv/www/index.html /srv/www/bin/run /srv/www | tr '\n' ' ')" = "600 700 700 " ]`},
			{Set: "source = \"files/next\"\npurge = true\nexclude = [\"bin\"]", Verify: `[ "$(ls -m /srv/www)" = "bin, index.html" ] && test -e /etc/passwd`},
			{Set: "source = \"files/next\"\npurge = true", Verify: `[ "$(ls -m /srv/www)" = index.html ]`},
		},
		Gone: "test ! -e /srv/www",
	}.run(m)
	lifecycle{
		Type: "archive", Label: "/opt/app",
		Prepare: `mkdir -p /srv/app-1/bin /srv/app-2; printf 'one\n' > /srv/app-1/text; printf '#!/bin/sh\n' > /srv/app-1/bin/run; chmod 755 /srv/app-1/bin/run
			printf 'two\n' > /srv/app-2/text
			tar -C /srv -czf /srv/1.tar.gz app-1; tar -C /srv -cJf /srv/2.tar.xz app-2; tar -C /srv -cf /root/site/files/1.tar app-1`,
		Steps: []step{
			{Set: "file = \"/srv/1.tar.gz\"\nstrip = 1", Verify: "diff -r --no-dereference /srv/app-1 /opt/app && test -x /opt/app/bin/run"},
			{Set: "file = \"/srv/2.tar.xz\"\nstrip = 1\npurge = true", Verify: "diff -r --no-dereference /srv/app-2 /opt/app"},
			{Set: "source = \"files/1.tar\"\nstrip = 1\nowner = \"www-data\"\nfile_mode = \"0640\"", Verify: `diff -r --no-dereference /srv/app-1 /opt/app && [ "$(stat -c '%U %a' /opt/app/bin/run)" = "www-data 750" ]`},
		},
		Gone: "test ! -e /opt/app",
	}.run(m)
}

func TestLifecycleOfTexts(t *testing.T) {
	t.Parallel()
	m := boot(t)
	lifecycle{
		Type: "marked_block", Label: "bench",
		Prepare: `printf '127.0.0.1 localhost' > /srv/hosts; cp /srv/hosts /srv/hosts.before`,
		Steps: []step{
			{Set: "path = \"/srv/hosts\"\ncontent = \"192.0.2.10 bench\"", Verify: `[ "$(sed -n '3p;$=' /srv/hosts | tr '\n' ' ')" = "192.0.2.10 bench 4 " ]`},
			{Set: "path = \"/srv/hosts\"\ncontent = \"192.0.2.10 bench\\n192.0.2.11 camera\\n\"", Verify: `grep -qx '192.0.2.11 camera' /srv/hosts`},
		},
		Gone: "cmp /srv/hosts /srv/hosts.before",
	}.run(m)
	for format, file := range map[string]struct{ before, first, second string }{
		"ini":        {"; c\n[a]\nx=1 ; d\n", "^b = one$", "^b = two$"},
		"json":       {"{\n  \"a\": {\"x\": 1} // c\n}\n", `"b": "one"`, `"b": "two"`},
		"yaml":       {"# c\na:\n    x: 1 # d\n", "^    b: one$", "^    b: two$"},
		"toml":       {"# c\n[a]\nx = 1 # d\n", `^b = "one"$`, `^b = "two"$`},
		"properties": {"# c\na.x=1\n", "^a.b = one$", "^a.b = two$"},
	} {
		path := "/srv/app." + format
		lifecycle{
			Type: "setting", Label: "the value of " + format,
			Prepare: "printf %s '" + file.before + "' > " + path + "; cp " + path + " " + path + ".before",
			Steps: []step{
				{Set: "path = \"" + path + "\"\nkey = \"a.b\"\nvalue = \"one\"", Verify: "grep -q '" + file.first + "' " + path},
				{Set: "path = \"" + path + "\"\nkey = \"a.b\"\nvalue = \"two\"", Verify: "grep -q '" + file.second + "' " + path},
			},
			Gone: "cmp " + path + " " + path + ".before",
		}.run(m)
	}
}
