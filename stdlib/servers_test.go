package stdlib_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/simulated"
	"github.com/tenetcm/tenet/runtime/host"
)

// serverTrials are of the components for what runs on a host.
var serverTrials = []trial{
	{
		name: "ssh_server",
		site: `
component "ssh" {
  source = "std/ssh_server"
  vars = {
    permit_root_login = "no"
    allow_groups      = ["sudo"]
    ports             = [22, 2222]
    listen            = ["0.0.0.0"]
    settings          = { maxauthtries = "2", ClientAliveInterval = "300" }
  }
}
`,
		machine: simulated.Machine{
			Packages:    parcels(map[string][]string{"openssh-server": {"ssh"}}),
			Directories: map[string]simulated.Directory{"/etc/ssh/sshd_config.d": {}},
			Commands: append(ok("rm"), script("way_in", simulated.Command{}), script("accepted", simulated.Command{}),
				simulated.Command{Name: "ssh-keyscan", Argv: []string{"ssh-keyscan", "-T", "5", "-p", "22", "127.0.0.1"}}),
		},
		files: map[string]string{
			"/etc/ssh/sshd_config.d/00-tenet.conf": "# Kept by tenet. sshd takes the first value that it finds, so these win.\n" +
				"PubkeyAuthentication yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitEmptyPasswords no\n" +
				"PermitRootLogin no\nPort 22\nPort 2222\nListenAddress 0.0.0.0\nAllowGroups sudo\n" +
				"ClientAliveInterval 300\nLogLevel VERBOSE\nLoginGraceTime 30\nX11Forwarding no\nmaxauthtries 2\n",
		},
	},
	{
		name: "nginx",
		site: `
component "web" {
  source = "std/nginx"
  vars = {
    sites = {
      "example.test" = { root = "/srv/www" }
      app = {
        domains    = ["app.example.test", "www.app.example.test"]
        proxy      = "http://127.0.0.1:8080"
        websockets = true
        tls        = "self-signed"
        settings   = "gzip on;\nclient_max_body_size 20m;"
      }
      old = {
        redirect    = "https://app.example.test"
        tls         = "command"
        command     = ["issue-cert", "old"]
        certificate = "/etc/issued/old.pem"
        key         = "/etc/issued/old.key"
        http        = "serve"
      }
    }
  }
}

component "inner" {
  source = "std/nginx"
  vars = {
    ipv6 = false
    sites = {
      inner = {
        root        = "/srv/inner"
        tls         = "files"
        certificate = "/etc/ssl/ca/inner.chain.pem"
        key         = "/etc/ssl/ca/inner.key"
      }
    }
  }
}
`,
		machine: simulated.Machine{
			Packages:    parcels(map[string][]string{"nginx": {"nginx"}, "openssl": nil}),
			Directories: map[string]simulated.Directory{"/etc/nginx/conf.d": {}, "/etc/nginx/sites-enabled": {}},
			Files:       map[string]simulated.File{"/etc/ssl/ca/inner.chain.pem": {}},
			Links:       map[string]string{"/etc/nginx/sites-enabled/default": "../sites-available/default"},
			Commands: []simulated.Command{
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "accepted", simulated.AnyOne}},
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "pair", simulated.AnyOne, simulated.AnyOne}},
				{Name: "openssl", Argv: []string{"openssl", "req", simulated.AnyRest}, Package: "openssl",
					Creates: map[string]string{"/etc/ssl/sites/app.self-signed.pem": "app", "/etc/ssl/sites/app.self-signed.key": "key"}},
				{Name: "openssl", Argv: []string{"openssl", "x509", "-checkend", "2592000", "-noout", "-in", simulated.AnyOne}},
				{Name: "issue-cert", Argv: []string{"issue-cert", "old"}, Creates: map[string]string{"/etc/issued/old.pem": "old"}},
			},
		},
		files: map[string]string{
			"/etc/nginx/conf.d/old.conf": "# Kept by tenet.\nserver {\n\tlisten 80;\n\tlisten [::]:80;\n\tserver_name old;\n\n" +
				"\tlocation ^~ /.well-known/acme-challenge/ {\n\t\troot /var/www/challenges;\n\t}\n" +
				"\tlisten 443 ssl;\n\tlisten [::]:443 ssl;\n\n\tssl_certificate /etc/issued/old.pem;\n\tssl_certificate_key /etc/issued/old.key;\n" +
				"\n\tlocation / {\n\t\treturn 301 https://app.example.test$request_uri;\n\t}\n}\n",
			"/etc/nginx/conf.d/inner.conf": "# Kept by tenet.\nserver {\n\tlisten 80;\n\tserver_name inner;\n\n" +
				"\tlocation ^~ /.well-known/acme-challenge/ {\n\t\troot /var/www/challenges;\n\t}\n\n" +
				"\tlocation / {\n\t\treturn 301 https://$host$request_uri;\n\t}\n}\n\nserver {\n" +
				"\tlisten 443 ssl;\n\tserver_name inner;\n\n\tssl_certificate /etc/ssl/ca/inner.chain.pem;\n\tssl_certificate_key /etc/ssl/ca/inner.key;\n" +
				"\n\troot /srv/inner;\n\tindex index.html;\n\n\tlocation / {\n\t\ttry_files $uri $uri/ =404;\n\t}\n}\n",
		},
		check: func(t *testing.T, h *host.Memory) {
			app := simulated.Text(h, "/etc/nginx/conf.d/app.conf")
			for _, want := range []string{"server_name app.example.test www.app.example.test;", "listen 443 ssl;",
				"\tgzip on;\n\tclient_max_body_size 20m;\n", "proxy_set_header Upgrade"} {
				if !strings.Contains(app, want) {
					t.Errorf("app.conf has no %q:\n%s", want, app)
				}
			}
			if simulated.Exists(h, "/etc/nginx/sites-enabled/default") {
				t.Error("the package's welcome page is still there")
			}
		},
	},
	{
		name: "self_signed_ca",
		site: `
component "ca" {
  source = "std/self_signed_ca"
  vars = {
    name  = "Example CA"
    trust = true
    certificates = {
      web = { names = ["web.example.test", "*.web.example.test", "192.0.2.10", "2001:db8::1"] }
    }
  }
}
`,
		machine: simulated.Machine{
			Packages:    parcels(map[string][]string{"openssl": nil, "ca-certificates": nil}),
			Directories: map[string]simulated.Directory{"/usr/local/share/ca-certificates": {}},
			Commands: []simulated.Command{
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "key", "/etc/ssl/ca/ca.key"}, Creates: map[string]string{"/etc/ssl/ca/ca.key": "k"}},
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "key", "/etc/ssl/ca/web.key"}, Creates: map[string]string{"/etc/ssl/ca/web.key": "k"}},
				script("authority", simulated.Command{Creates: map[string]string{"/etc/ssl/ca/ca.pem": "c"}}),
				script("sign", simulated.Command{Creates: map[string]string{"/etc/ssl/ca/web.pem": "c"}}),
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "current", "/etc/ssl/ca", "ca", "31536000"}, Exists: "/etc/ssl/ca/ca.pem"},
				{Name: "sh", Argv: []string{"sh", "-c", simulated.AnyOne, "current", "/etc/ssl/ca", "web", "2592000"}, Exists: "/etc/ssl/ca/web.pem"},
				script("current", simulated.Command{ExitCode: 1}),
				{Name: "update-ca-certificates"},
			},
		},
		files: map[string]string{
			"/etc/ssl/ca/web.cnf": "# Kept by tenet.\n[req]\nprompt = no\ndistinguished_name = subject\nstring_mask = utf8only\n\n" +
				"[subject]\ncommonName = web.example.test\n\n[extensions]\nbasicConstraints = critical, CA:false\n" +
				"keyUsage = critical, digitalSignature\nextendedKeyUsage = serverAuth, clientAuth\nsubjectKeyIdentifier = hash\n" +
				"authorityKeyIdentifier = keyid\nsubjectAltName = @names\n\n[names]\nDNS.1 = web.example.test\nDNS.2 = *.web.example.test\n" +
				"IP.1 = 192.0.2.10\nIP.2 = 2001:db8::1\n",
		},
		stays: []string{"/etc/ssl/ca/web.cnf"},
	},
	{
		name: "postgresql",
		site: `
component "database" {
  source = "std/postgresql"
  vars = {
    settings = {
      max_connections  = "200"
      log_line_prefix  = "%m it's \\ "
    }
    access = [
      { address = "192.0.2.0/24", database = "app", user = "app" },
      { type = "local", method = "peer" },
    ]
    roles = {
      app      = { createdb = true }
      reporter = { login = false, member_of = ["pg_read_all_data"] }
    }
    passwords = {
      app = "it's secret"
    }
    databases = {
      app = { owner = "app", extensions = ["pg_trgm"] }
    }
  }
}
`,
		machine: simulated.Machine{
			Commands: ok("rm"),
			Packages: map[string]simulated.Package{"postgresql-15": {
				Available: []string{"15.6"}, Services: []string{"postgresql@15-main"},
				Files: map[string]string{
					"/etc/postgresql/15/main/postgresql.conf": "x", "/etc/postgresql/15/main/pg_hba.conf": "x",
					"/etc/postgresql/15/main/conf.d/.keep": "",
				},
			}},
			Users: map[string]simulated.User{"postgres": {}},
		},
		prepare: addPostgres,
		files: map[string]string{
			"/etc/postgresql/15/main/conf.d/50-tenet.conf":         "# Kept by tenet.\nlog_line_prefix = '%m it''s \\\\ '\n",
			"/etc/postgresql/15/main/conf.d/51-tenet-restart.conf": "# Kept by tenet.\nmax_connections = '200'\n",
			"/etc/postgresql/15/main/pg_hba.conf": "# Kept by tenet.\nlocal all postgres peer\n" +
				"host app app 192.0.2.0/24 scram-sha-256\nlocal all all peer\n",
			"/var/lib/simulated/pg/password app it": "",
			"/var/lib/simulated/pg/role app":        "", "/var/lib/simulated/pg/role reporter": "",
			"/var/lib/simulated/pg/member pg_read_all_data reporter": "",
			"/var/lib/simulated/pg/database app":                     "", "/var/lib/simulated/pg/owner app app": "",
			"/var/lib/simulated/pg/extension pg_trgm": "",
		},
		stays: []string{
			"/etc/postgresql/15/main/pg_hba.conf",
			"/var/lib/simulated/pg/password app it",
			"/var/lib/simulated/pg/role app", "/var/lib/simulated/pg/role reporter",
			"/var/lib/simulated/pg/member pg_read_all_data reporter",
			"/var/lib/simulated/pg/database app", "/var/lib/simulated/pg/owner app app",
			"/var/lib/simulated/pg/extension pg_trgm",
		},
	},
}

// addPostgres adds a server that knows what it was told, as files, and answers
// the questions of the guards about it.
func addPostgres(h *host.Memory) {
	const dir = "/var/lib/simulated/pg/"
	tells := []struct{ statement, thing string }{
		{`'CREATE ROLE "(\w+)"'`, "role %s"},
		{`ALTER ROLE "(\w+)" PASSWORD '(it)''s secret'`, "password %s %s"},
		{`GRANT "(\w+)" TO "(\w+)"`, "member %s %s"},
		{`CREATE DATABASE "(\w+)"`, "database %s"},
		{`(?:CREATE|ALTER) DATABASE "(\w+)" .*OWNER (?:TO )?"(\w+)"`, "owner %s %s"},
		{`CREATE EXTENSION IF NOT EXISTS "(\w+)"`, "extension %s"},
	}
	asks := []struct{ statement, thing string }{
		{`rolname = '(\w+)' AND rolcanlogin`, "role %s"},
		{`g\.rolname = '(\w+)' AND r\.rolname = '(\w+)'`, "member %s %s"},
		{`datname = '(\w+)' AND pg_get_userbyid\(datdba\) = '(\w+)'`, "owner %s %s"},
		{`datname = '(\w+)'$`, "database %s"},
		{`extname = '(\w+)'`, "extension %s"},
	}
	h.Handle("psql", func(ctx context.Context, c host.Command) (host.Result, error) {
		if c.User != "postgres" {
			return host.Result{ExitCode: 2, Stderr: []byte("psql: wrong user " + c.User)}, nil
		}
		if k := slices.Index(c.Argv, "--command"); k >= 0 {
			for _, a := range asks {
				if m := regexp.MustCompile(a.statement).FindStringSubmatch(c.Argv[k+1]); m != nil {
					if !simulated.Exists(h, dir+fmt.Sprintf(a.thing, words(m)...)) {
						return host.Result{ExitCode: 1, Stderr: []byte("division by zero")}, nil
					}
					return host.Result{}, nil
				}
			}
			return host.Result{}, nil // of the access rules: no mistakes
		}
		if strings.Contains(string(c.Stdin), "pg_authid") {
			answer := "f\n"
			if simulated.Exists(h, dir+"password app it") {
				answer = "t\n"
			}
			return host.Result{Stdout: []byte(answer)}, nil
		}
		for _, tell := range tells {
			if m := regexp.MustCompile(tell.statement).FindStringSubmatch(string(c.Stdin)); m != nil {
				if err := simulated.WriteFile(ctx, h, dir+fmt.Sprintf(tell.thing, words(m)...), "", host.Meta{}); err != nil {
					return host.Result{}, err
				}
			}
		}
		return host.Result{}, nil
	})
	h.Handle("sh", func(context.Context, host.Command) (host.Result, error) {
		return host.Result{}, nil // it accepts its settings and its rules
	})
	h.Handle("runuser", func(ctx context.Context, c host.Command) (host.Result, error) {
		c.User, c.Argv = c.Argv[2], c.Argv[4:]
		return h.Run(ctx, c)
	})
}

func words(match []string) []any {
	var out []any
	for _, m := range match[1:] {
		out = append(out, m)
	}
	return out
}
