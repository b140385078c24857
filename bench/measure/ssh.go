package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	hosts "github.com/tenetcm/tenet/internal/lab"
)

// fleet is ten hosts under systemd, and who drives them with OpenSSH.
type fleet struct {
	run        *hosts.Run
	controller *hosts.Controller
	hosts      []*hosts.Host
}

const fleetSize = 10

func (l *lab) sshCases() []bcase {
	return []bcase{
		{
			name: "ssh-warm", text: "10 hosts by ssh, 20 parts, nothing to do", asRoot: true,
			prepare: func(dir string) ([]program, error) { return l.overSSH(false) },
			aims:    []aim{besideSSH(1.5, 0.150), fasterThan(10, "ansible")},
		},
		{
			name: "ssh-cold", text: "10 hosts by ssh that have never heard of it, 20 parts, all to be made", asRoot: true,
			prepare: func(dir string) ([]program, error) { return l.overSSH(true) },
			aims:    []aim{fasterThan(10, "ansible")},
		},
	}
}

// besideSSH wants tenet to take at most factor times as long as ssh to the same hosts in
// parallel, and so many seconds.
func besideSSH(factor, more float64) aim {
	return aim{
		text: fmt.Sprintf("≤ %g × ssh + %g ms", factor, more*1000), needs: "ssh",
		isMet: func(r row, _ []row) bool { return r.times["tenet"].Seconds() <= factor*r.times["ssh"].Seconds()+more },
	}
}

// overSSH has tools keep 20 parts on ten hosts, found as wanted or (cold) not at all.
// "ssh" is ten that run true, in parallel.
func (l *lab) overSSH(cold bool) ([]program, error) {
	f, err := l.powerOn()
	if err != nil {
		return nil, err
	}
	home := f.controller.Home()
	files := map[string]string{"site.hcl": f.site(), "hosts.ini": f.inventory(), "playbook.yml": playbook()}
	if err := writeAll(home, files); err != nil {
		return nil, err
	}
	all := "for h in " + strings.Join(f.names(), " ") + `; do ssh -T -o BatchMode=yes "root@$h" true & done; wait`
	programs := []program{
		{name: "ssh", argv: f.controller.Argv("sh", "-c", all)},
		{name: "tenet", argv: f.controller.Argv(l.tenet, "apply", "--yes", "site.hcl")},
	}
	if l.ansible != "" {
		programs = append(programs, program{name: "ansible", runsOnce: true, argv: f.controller.Argv(
			"env", "ANSIBLE_PIPELINING=1", "ANSIBLE_FORKS=10", "LC_ALL=C.UTF-8", l.ansible, "-i", "hosts.ini", "playbook.yml")})
	}
	for i := range programs {
		p := &programs[i]
		if cold && p.name != "ssh" {
			p.prepare = func() error { return f.onEach("rm -rf /var/lib/tenet /var/cache/tenet /root/.ansible; " + undo) }
		}
		if !cold && p.name == "tenet" { // made before it is measured, for all
			if _, _, err := measure(home, p.argv); err != nil {
				return nil, err
			}
		}
		if p.name != "ssh" {
			p.check = func() error { return f.onEach(check) }
		}
	}
	return programs, nil
}

// The same 20 parts for both.
const (
	parts = `
directory "/srv/bench" {
  mode = "0750"
}

group "crew" {}

user "worker" {
  home   = "/home/worker"
  shell  = "/bin/sh"
  groups = ["crew"]
}

directory "/srv/bench/releases" {}

service "cron" {
  running = true
}

symlink "/srv/bench/current" {
  target = "releases/1"
}

command "stamp" {
  argv    = ["touch", "/srv/bench/stamp"]
  creates = "/srv/bench/stamp"
}
`
	tasks = `
    - file: { path: /srv/bench, state: directory, mode: "0750" }
    - group: { name: crew }
    - user: { name: worker, home: /home/worker, shell: /bin/sh, groups: crew }
    - file: { path: /srv/bench/releases, state: directory }
    - service: { name: cron, state: started }
    - file: { path: /srv/bench/current, src: releases/1, state: link, force: true }
    - command: { cmd: touch /srv/bench/stamp, creates: /srv/bench/stamp }
`
	undo  = "userdel -r worker; groupdel crew; rm -rf /srv/bench; true"
	check = "test $(ls /srv/bench | wc -l) = 16 && id worker > /dev/null"
)

// playbook is the site for Ansible, which sets the files one by one as well.
func playbook() string {
	return "- hosts: all\n  gather_facts: true\n  tasks:" + tasks + eachFile(
		"    - copy: { dest: /srv/bench/file%02d, content: \"%[1]d on {{ ansible_facts.hostname }}\\n\", mode: \"0640\" }\n")
}

// eachFile repeats a text for 13 files.
func eachFile(text string) string {
	var b strings.Builder
	for i := range 13 {
		fmt.Fprintf(&b, text, i)
	}
	return b.String()
}

func (f *fleet) site() string {
	var b strings.Builder
	for _, name := range f.names() {
		fmt.Fprintf(&b, "host %q {\n  user = \"root\"\n}\n", name)
	}
	return b.String() + parts + eachFile("\nfile \"/srv/bench/file%02d\" {\n  content = \"%[1]d on ${fact.hostname}\\n\"\n  mode    = \"0640\"\n}\n")
}

func (f *fleet) inventory() string {
	return strings.Join(f.names(), " ansible_user=root\n") + " ansible_user=root\n"
}

func (f *fleet) names() (names []string) {
	for _, h := range f.hosts {
		names = append(names, h.Name)
	}
	return names
}

// onEach runs a script on all hosts, one after the other.
func (f *fleet) onEach(script string) error {
	for _, h := range f.hosts {
		r, err := h.Shell(context.Background(), script)
		if err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("%s: exit status %d\n%s%s", h.Name, r.ExitCode, r.Stdout, r.Stderr)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// powerOn boots the hosts, once, with what Ansible needs on them.
func (l *lab) powerOn() (*fleet, error) {
	if l.hosts != nil {
		return l.hosts, nil
	}
	ctx := context.Background()
	f := &fleet{}
	l.hosts = f // what of it there is, is powered off
	var err error
	if f.run, err = hosts.Open(ctx); err != nil {
		return nil, err
	}
	if f.controller, err = f.run.Controller(ctx); err != nil {
		return nil, err
	}
	var names []string
	for i := range fleetSize {
		names = append(names, fmt.Sprintf("web%d", i+1))
	}
	if f.hosts, err = f.run.BootAll(ctx, names...); err != nil {
		return nil, err
	}
	for _, h := range f.hosts {
		if err := f.controller.Authorize(ctx, h, "root"); err != nil {
			return nil, err
		}
	}
	if l.ansible != "" {
		err = f.onEach("echo 'deb [trusted=yes] file:" + hosts.Parcels + " ./' > /etc/apt/sources.list.d/parcels.list && apt-get -q update && apt-get install -q -y --no-install-recommends python3")
	}
	return f, errors.Join(err, f.controller.Trust(ctx, f.hosts...))
}

// powerOff ends the hosts, if there are any.
func (l *lab) powerOff() error {
	if l.hosts == nil || l.hosts.run == nil {
		return nil
	}
	return l.hosts.run.Close()
}
