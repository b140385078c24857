package packages

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
)

// apt is the package manager of Debian and its relatives.
type apt struct{}

// lockedError says that somebody else is at work with the packages.
type lockedError struct{ lock, holder string }

func (e *lockedError) Error() string {
	return fmt.Sprintf("the package manager's lock %s is held by %s", e.lock, e.holder)
}

// env keeps apt from asking questions, and its messages in one language.
func env() []string {
	return []string{"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "LC_ALL=C.UTF-8"}
}

// Transact implements manager by one apt-get.
func (apt) Transact(ctx context.Context, h host.Processes, t transaction) error {
	argv := []string{
		"apt-get", "-y", "-q",
		"-o", "DPkg::Lock::Timeout=0",
		"-o", "Dpkg::Options::=--force-confdef",
		"-o", "Dpkg::Options::=--force-confold",
	}
	if t.Held {
		argv = append(argv, "--allow-change-held-packages")
	}
	switch {
	case t.Purge:
		argv = append(argv, "purge", "--")
	case len(t.Remove) > 0:
		argv = append(argv, "remove", "--")
	default:
		argv = append(argv, "--allow-downgrades", "install", "--")
	}
	argv = append(argv, t.Remove...)
	for _, p := range t.Install {
		if p.Version != "" {
			p.Name += "=" + p.Version
		}
		argv = append(argv, p.Name)
	}
	return run(ctx, h, argv)
}

// Refresh implements manager.
func (apt) Refresh(ctx context.Context, h host.Processes) error {
	err := run(ctx, h, []string{"apt-get", "-q", "update"})
	if err != nil {
		return fmt.Errorf("fetching the package lists: %w", err)
	}
	return nil
}

// Hold implements manager.
func (apt) Hold(ctx context.Context, h host.Processes, names []string, hold bool) error {
	verb := "unhold"
	if hold {
		verb = "hold"
	}
	return run(ctx, h, append([]string{"apt-mark", verb, "--"}, names...))
}

func run(ctx context.Context, h host.Processes, argv []string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Env: env()})
	if exit, ok := errors.AsType[*process.ExitError](err); ok {
		said := string(exit.Result.Stderr)
		if locked := findLock(said); locked != nil {
			return locked
		}
		if strings.Contains(said, "Held packages were changed") {
			return fmt.Errorf("it, or what it needs, is on hold: only a part that gives hold changes such a package: %w", err)
		}
	}
	return err
}

// The ways in which apt and dpkg say that somebody else is at work.
var (
	heldPattern  = regexp.MustCompile(`Could not get lock (\S+?)\. It is held by process (\d+ \([^)]*\))`)
	aptPattern   = regexp.MustCompile(`Could not get lock (\S+)`)
	frontPattern = regexp.MustCompile(`dpkg (frontend lock|database lock|status database) (?:was|is) locked by another process(?: with pid (\d+))?`)
)

func findLock(stderr string) *lockedError {
	for _, p := range []*regexp.Regexp{heldPattern, aptPattern, frontPattern} {
		m := p.FindStringSubmatch(stderr)
		if m == nil {
			continue
		}
		holder := "another process"
		if len(m) > 2 && m[2] != "" {
			holder = "process " + m[2]
		}
		return &lockedError{lock: m[1], holder: holder}
	}
	return nil
}

// Offers implements manager by apt-cache policy.
func (apt) Offers(ctx context.Context, h host.Processes, names []string) (offers, error) {
	r, err := process.Query(ctx, h, host.Query{
		Command: host.Command{
			Argv: append([]string{"apt-cache", "policy", "--"}, names...),
			Env:  env(), MaxOutput: 16 << 20,
		},
		Reads: []string{"/etc/apt", "/var/lib/apt", "/var/lib/dpkg/status"},
	})
	if err != nil {
		return nil, err
	}
	return parsePolicy(string(r.Stdout)), nil
}

// parsePolicy reads what apt-cache policy prints: a package's name at the
// line's start, its candidate, and a table with a line for each version, which
// " *** " marks as installed.
func parsePolicy(text string) offers {
	offers := offers{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		candidate, isCandidate := strings.CutPrefix(line, "  Candidate: ")
		switch o := offers[name]; {
		case line != "" && line[0] != ' ':
			name = strings.TrimSuffix(line, ":")
			offers[name] = offer{}
		case isCandidate && candidate != "(none)":
			o.Newest = candidate
			offers[name] = o
		case strings.HasPrefix(line, " *** ") || strings.HasPrefix(line, "     ") && !strings.HasPrefix(line, "      "):
			if fields := strings.Fields(line[5:]); len(fields) > 0 {
				o.Versions = append(o.Versions, fields[0])
				offers[name] = o
			}
		}
	}
	return offers
}
