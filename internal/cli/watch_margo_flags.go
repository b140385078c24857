package cli

import (
	"strings"

	langsite "github.com/tenetcm/tenet/lang/site"
	"github.com/tenetcm/tenet/runtime/source"
)

// margoFlags are for a device of a fleet manager of Margo.
type margoFlags struct {
	Margo      string  `help:"With margo+https://…: folder that says who the device is: cert.pem, key.pem, bundle.pem and capabilities.yaml (default: /etc/tenet/margo)." default:"/etc/tenet/margo" placeholder:"DIR"`
	Compose    string  `help:"With margo+https://…: the program that has Compose's commands: \"docker compose\", \"podman compose\", podman-compose (default: docker compose)." default:"docker compose" placeholder:"PROGRAM"`
	Workloads  string  `help:"With margo+https://…: folder in which each component of a deployment has its own (default: /var/lib/margo)." default:"/var/lib/margo" placeholder:"DIR"`
	Poll       *span   `help:"With git::… and margo+https://…: time between two looks (default: 5m, and 1m)." placeholder:"DURATION"`
	PollWindow []hours `help:"With git::… and margo+https://…: when the repository or the manager is asked, such as \"22:00-04:00\" or \"sat,sun 00:00-24:00 Europe/Berlin\"; more than once for several (default: always)." placeholder:"HOURS" sep:"none"`
	Unregister bool    `help:"With margo+https://…: take the device away from the manager, and end. What runs stays."`
}

// hours are a window of the week on the command line: days, hours and a time zone, of which the hours alone are needed.
type hours struct{ langsite.Window }

// UnmarshalText reads hours.
func (h *hours) UnmarshalText(text []byte) (err error) {
	h.Window, err = source.ParseWindow(string(text))
	return err
}

func windowsOf(all []hours) (out []langsite.Window) {
	for _, h := range all {
		out = append(out, h.Window)
	}
	return out
}

const margoScheme = "margo+"

// isDevice tells whether a manager says what is wanted.
func (cmd *watchCmd) isDevice() bool { return strings.HasPrefix(cmd.Site, margoScheme) }

// check refuses flags that do not fit together.
func (f *margoFlags) check(cmd *watchCmd) error {
	switch {
	case !cmd.isDevice() && f.Unregister:
		return usage("the site is margo+https://HOST", "--unregister is for a device of Margo")
	case !cmd.isDevice() && !cmd.isFollowed() && (f.Poll != nil || f.PollWindow != nil):
		return usage("the site is git::URL, or margo+https://HOST", "--poll and --poll-window are for what is followed")
	case f.Poll != nil && *f.Poll <= 0:
		return usage("", "--poll is a time above zero")
	case !cmd.isDevice():
		return nil
	case cmd.PlanOnly:
		return usage("leave it out", "a device of Margo is told what to apply: there is no --plan-only")
	case cmd.Prune:
		return usage("leave it out", "a device of Margo removes what its manager names no more: there is no --prune")
	case cmd.Empty:
		return usage("leave it out", "a device of Margo applies what its manager names: there is no --empty")
	}
	return nil
}
