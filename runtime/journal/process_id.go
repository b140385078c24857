package journal

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// processID tells a process from every other one, also from a later one that has its
// number. What cannot be known is empty.
type processID struct {
	Number    int    `json:"number"`
	Started   string `json:"started"`   // in ticks of the kernel's clock, proc(5)
	Boot      string `json:"boot"`      // see BootID
	Namespace string `json:"namespace"` // in which the number is one
}

// ownProcess is the ID of this process, which stays the same until it ends.
var ownProcess = sync.OnceValue(func() processID {
	p := processID{Number: os.Getpid(), Boot: BootID()}
	p.Started, _ = startOf(p.Number)
	p.Namespace, _ = os.Readlink("/proc/self/ns/pid")
	return p
})

// isDead reports whether the process has ended for certain. One of another namespace or
// machine, or of which this machine tells nothing, may live.
func (p *processID) isDead() bool {
	if p == nil || p.Number <= 0 || p.Boot == "" || p.Namespace == "" || p.Started == "" {
		return false
	}
	own := ownProcess()
	if own.Namespace != p.Namespace || own.Boot != p.Boot {
		return false
	}
	if errors.Is(unix.Kill(p.Number, 0), unix.ESRCH) { // /proc may hide those of others
		return true
	}
	started, ok := startOf(p.Number)
	return ok && started != p.Started
}

// startOf tells when a process was started; "" is one that has ended, and whose parent
// does not know yet. Not ok: nothing is to be seen of it.
func startOf(pid int) (ticks string, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// pid (name) state …, with the start as the 22nd field; the name may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", false
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", true
	}
	return fields[19], true
}
