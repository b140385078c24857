package packages

import (
	"context"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// ask is a question to a package manager, whose answer holds until one of the paths
// changes.
func ask(ctx context.Context, h host.Host, reads []string, argv ...string) (string, error) {
	r, err := process.Query(ctx, h, host.Query{
		Command: host.Command{Argv: argv, Env: []string{"LC_ALL=C.UTF-8"}, MaxOutput: 64 << 20},
		Reads:   reads, Keep: true,
	})
	return string(r.Stdout), err
}

// act starts a package manager; said finds in what it says whether somebody else is at
// work.
func act(ctx context.Context, h host.Host, said func(exitCode int, text string) *lockedError, argv ...string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Env: []string{"LC_ALL=C.UTF-8"}})
	return lockOr(err, said)
}

// rpmDatabases are where rpm keeps what it knows.
func rpmDatabases() []string { return []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm"} }

// rpmInstalled asks rpm for all packages at once. Of several versions of a package the
// first one counts.
func rpmInstalled(ctx context.Context, h host.Host, name string) (installed, error) {
	text, err := ask(ctx, h, rpmDatabases(), "rpm", "-qa", "--queryformat", rpmFormat)
	return findRPM(text, name), err
}

const rpmFormat = `%{NAME}\t%|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\t%{ARCH}\n`

// findRPM looks a package up in lines of name, version and architecture.
func findRPM(text, name string) installed {
	name, arch, qualified := strings.Cut(name, ":")
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) == 3 && fields[0] == name && (!qualified || fields[2] == arch) {
			return installed{Version: strings.TrimPrefix(fields[1], "0:")}
		}
	}
	return installed{}
}

// rpmName gives a name as dnf and zypper have it: with the architecture behind a dot.
func rpmName(name string) string { return strings.ReplaceAll(name, ":", ".") }

// rpmNames does so for several.
func rpmNames(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = rpmName(name)
	}
	return out
}

// rpmLock finds what rpm says when its own lock is held.
func rpmLock(text string) *lockedError {
	if strings.Contains(text, "create transaction lock on") {
		return &lockedError{lock: ".rpm.lock", holder: "another process"}
	}
	return nil
}
