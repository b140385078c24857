package host

import (
	"os"
	"time"
)

// Componentwise makes a Local below a root resolve paths by itself, as it does
// where the kernel has no openat2.
func (l *Local) Componentwise() { l.componentwise = true }

// Scripts is an init system of scripts.
func Scripts(system string, h Host) Init { return newScripts(system, h) }

// GreetSystemd begins to talk with the systemd at the other end of a socket, and ends
// that at once.
func GreetSystemd(stream *os.File, patience time.Duration) error {
	conn, err := greet(stream, os.Geteuid(), patience)
	if err == nil {
		err = conn.Close()
	}
	return err
}

// AskSystemd does so, and asks it for something before.
func AskSystemd(stream *os.File, patience time.Duration) error {
	conn, err := greet(stream, os.Geteuid(), patience)
	if err != nil {
		return err
	}
	err = conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1").Call("org.freedesktop.systemd1.Manager.Reload", 0).Err
	conn.Close()
	return explain(err, "")
}

// DropNames takes those who are named off the list of a file.
var DropNames = dropNames
