package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/modules/internal/process"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// apt is the package manager of Debian and its relatives.
type apt struct{}

// env keeps apt from asking questions, and its messages in one language.
func env() []string {
	return []string{"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "LC_ALL=C.UTF-8"}
}

// aptGet begins every call that changes something. apt does not wait for locks
// itself: it waits for some only, and in silence. Without a terminal in between what
// dpkg says is told apart from what it prints.
func aptGet() []string {
	return []string{"apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=0", "-o", "Dpkg::Use-Pty=0"}
}

// Transact implements manager by one apt-get, and another one for what is removed
// with its configuration beside it.
func (apt) Transact(ctx context.Context, h host.Host, t transaction) error {
	argv := append(aptGet(), "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold")
	if t.Held {
		argv = append(argv, "--allow-change-held-packages")
	}
	var err error
	switch {
	case len(t.Install) > 0:
		err = runApt(ctx, h, slices.Concat(argv, []string{"--allow-downgrades", "install", "--"}, wishes(t)))
	case len(t.Remove) > 0:
		err = runApt(ctx, h, slices.Concat(argv, []string{"remove", "--"}, t.Remove))
	}
	if err == nil && len(t.Purge) > 0 {
		err = runApt(ctx, h, slices.Concat(argv, []string{"purge", "--"}, t.Purge))
	}
	if exit, ok := errors.AsType[*process.ExitError](err); ok && strings.Contains(string(exit.Result.Stderr), "Failed to fetch") {
		// The lists may name what the source has no more: the next attempt knows.
		err = errors.Join(err, apt{}.Refresh(ctx, h))
	}
	return err
}

// wishes are the arguments of an installation. A name with a dash behind it is
// removed: in the same transaction apt may replace one package by another, and keeps
// what needs either.
func wishes(t transaction) []string {
	var out []string
	for _, p := range t.Install {
		if p.Version != "" {
			p.Name += "=" + p.Version
		}
		out = append(out, p.Name)
	}
	for _, name := range slices.Concat(t.Remove, t.Purge) {
		out = append(out, name+"-")
	}
	return out
}

// refreshStamp is the file whose time tells when the lists were last fetched well, as
// other tools have it.
const (
	refreshStamp = "/var/lib/apt/periodic/update-success-stamp"
	aptLists     = "/var/lib/apt/lists"
)

// Refresh implements manager. Also a source that cannot be reached is an error, and
// not only one that cannot be trusted.
func (apt) Refresh(ctx context.Context, h host.Host) error {
	if err := runApt(ctx, h, append(aptGet(), "-o", "APT::Update::Error-Mode=any", "update")); err != nil {
		return fmt.Errorf("fetching the package lists: %w", err)
	}
	if err := h.Mkdir("/var/lib/apt/periodic", host.Meta{}); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return h.WriteFile(ctx, refreshStamp, host.Text(""), host.Meta{})
}

// isStale reports whether a source of packages has changed since the lists were
// fetched.
func isStale(h host.Reader) bool {
	latest := func(newest time.Time, name string) time.Time {
		info, err := h.Lstat(name)
		if err != nil || info.ModTime.Before(newest) || info.ModTime.After(time.Now().Add(time.Minute)) {
			return newest // what comes from the future would never be fetched
		}
		return info.ModTime
	}
	fetched := latest(latest(time.Time{}, aptLists), refreshStamp)
	changed := latest(time.Time{}, "/etc/apt/sources.list")
	for _, dir := range []string{"/etc/apt/sources.list.d", "/etc/apt/keyrings", "/etc/apt/trusted.gpg.d"} {
		changed = latest(changed, dir)
		entries, err := h.ReadDir(dir)
		if err != nil {
			continue // apt will tell
		}
		for _, e := range entries {
			changed = latest(changed, dir+"/"+e.Name)
		}
	}
	return changed.After(fetched)
}

// Hold implements manager.
func (apt) Hold(ctx context.Context, h host.Host, names []string, hold bool) error {
	verb := "unhold"
	if hold {
		verb = "hold"
	}
	return runApt(ctx, h, append([]string{"apt-mark", verb, "--"}, names...))
}

func runApt(ctx context.Context, h host.Host, argv []string) error {
	_, err := process.Run(ctx, h, host.Command{Argv: argv, Env: env()})
	if exit, ok := errors.AsType[*process.ExitError](err); ok {
		return explain(exit)
	}
	return err
}

// explain makes of what apt says what is wrong, and what to do about it.
func explain(exit *process.ExitError) error {
	said := string(exit.Result.Stderr)
	if locked := findLock(said); locked != nil {
		return locked
	}
	advice := func(err error, hint string) error {
		return &states.FinalError{Err: &diag.HintError{Err: err, Hint: hint}}
	}
	switch {
	case strings.Contains(said, "Held packages were changed"):
		return advice(fmt.Errorf("it, or what it needs, is on hold: only a part that gives hold changes such a package: %w", exit), "")
	case strings.Contains(said, "dpkg was interrupted"):
		return advice(&interruption{What: exit.Error()}, "run dpkg --configure -a, then apply again")
	case strings.Contains(said, "--fix-broken install"):
		return advice(&interruption{What: "packages that are installed lack what they need" + unmet(exit)}, "run apt-get -f install, then apply again")
	case strings.Contains(said, "Unable to correct problems"):
		return advice(fmt.Errorf("%w%s", exit, unmet(exit)), "")
	case strings.Contains(said, "NO_PUBKEY"), strings.Contains(said, "is not signed"), strings.Contains(said, "signatures were invalid"), strings.Contains(said, "EXPKEYSIG"):
		return advice(exit, "the key that is given for this source (signed_by) is not the one that it is signed with")
	case strings.Contains(said, "No space left on device"), strings.Contains(said, "don't have enough free space"):
		return advice(exit, "make room on the file system, then apply again")
	case strings.Contains(said, "Failed to fetch"), strings.Contains(said, "Temporary failure"):
		return exit // another time it may go well
	}
	return advice(exit, "")
}

// unmet is what apt says on its standard output about packages that do not fit
// together.
func unmet(exit *process.ExitError) string {
	_, after, found := strings.Cut(string(exit.Result.Stdout), "have unmet dependencies")
	if !found {
		return ""
	}
	var lines []string
	for i, line := range strings.Split(process.Tail([]byte(after), 1000), "\n") {
		if i > 0 && !strings.HasPrefix(line, " ") || i > 10 {
			break
		}
		if i > 0 {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return ": " + strings.Join(lines, "; ")
}

// The ways in which apt and dpkg say that somebody else is at work.
var (
	heldPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`Could not get lock (\S+?)\. It is held by process (\d+ \([^)]*\))`)
	})
	aptPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`Could not get lock (\S+)`)
	})
	frontPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`dpkg (frontend lock|database lock|status database) (?:was|is) locked by another process(?: with pid (\d+))?`)
	})
)

func findLock(stderr string) *lockedError {
	for _, p := range []*regexp.Regexp{heldPattern(), aptPattern(), frontPattern()} {
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

// Offers implements manager by one apt-cache policy for all, whose answer holds
// until the lists change.
func (apt) Offers(ctx context.Context, h host.Host, names []string) (offers, error) {
	if isStale(h) {
		return nil, errStale
	}
	text, err := aptCache(ctx, h, append([]string{"policy", "--"}, names...))
	if err != nil {
		return nil, err
	}
	known := parsePolicy(text)
	var virtual []string
	for name, o := range known {
		if !o.isKnown() {
			virtual = append(virtual, name)
		}
	}
	if len(virtual) == 0 {
		return known, nil
	}
	slices.Sort(virtual)
	if text, err = aptCache(ctx, h, append([]string{"showpkg", "--"}, virtual...)); err != nil {
		return nil, err
	}
	for name, providers := range parseProviders(text) {
		known[name] = offer{Providers: providers}
	}
	return known, nil
}

func aptCache(ctx context.Context, h host.Host, args []string) (string, error) {
	r, err := process.Query(ctx, h, host.Query{
		Command: host.Command{Argv: append([]string{"apt-cache"}, args...), Env: env(), MaxOutput: 64 << 20},
		Reads:   []string{"/etc/apt", "/var/lib/apt", dpkgStatus},
		Keep:    true,
	})
	return string(r.Stdout), err
}

// parsePolicy reads what apt-cache policy prints: a package's name at the
// line's start, its candidate, and a table with a line for each version, which
// " *** " marks as installed.
func parsePolicy(text string) offers {
	known := offers{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		candidate, isCandidate := strings.CutPrefix(line, "  Candidate: ")
		switch o := known[name]; {
		case line != "" && line[0] != ' ':
			name = strings.TrimSuffix(line, ":")
			known[name] = offer{}
		case isCandidate && candidate != "(none)":
			o.Newest = candidate
			known[name] = o
		case strings.HasPrefix(line, " *** ") || strings.HasPrefix(line, "     ") && !strings.HasPrefix(line, "      "):
			if fields := strings.Fields(line[5:]); len(fields) > 0 {
				o.Versions = append(o.Versions, fields[0])
				known[name] = o
			}
		}
	}
	return known
}

// parseProviders reads, of what apt-cache showpkg prints, the lines under "Reverse
// Provides:": a provider's name, its version, and how it provides.
func parseProviders(text string) map[string][]string {
	out := map[string][]string{}
	name, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch rest, isName := strings.CutPrefix(line, "Package: "); {
		case isName:
			name, inside = rest, false
		case line == "Reverse Provides:":
			inside = true
		case inside && line != "":
			provider, _, _ := strings.Cut(line, " ")
			if !slices.Contains(out[name], provider) {
				out[name] = append(out[name], provider)
			}
		}
	}
	for _, providers := range out {
		slices.Sort(providers)
	}
	return out
}
