package host

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endProcesses ends a process and all that come from it: SIGTERM, a time of
// grace, SIGKILL. A process belongs to it by its session, by the mark in the
// environment that it inherited, or as the child of one that belongs. That
// also finds those that made a session of their own and whose parent is gone.
func endProcesses(pid int, mark string, grace time.Duration) error {
	return newFamily(pid, mark).end(grace)
}

func newFamily(head int, mark string) *family {
	return &family{head: head, mark: []byte(mark), members: map[int]string{}}
}

// end ends all members: SIGTERM, a time of grace, SIGKILL.
func (f *family) end(grace time.Duration) error {
	f.signal(syscall.SIGTERM)
	f.signal(syscall.SIGCONT) // a stopped one must wake up to end
	deadline := time.Now().Add(grace)
	for wait := time.Millisecond; time.Now().Before(deadline); wait = min(2*wait, 50*time.Millisecond) {
		if len(f.runningMembers()) == 0 {
			return nil
		}
		time.Sleep(min(wait, time.Until(deadline)))
	}
	// One that is killed may have started another meanwhile; in an
	// uninterruptible sleep it stays for longer.
	for deadline = time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		f.signal(syscall.SIGKILL)
		if len(f.runningMembers()) == 0 {
			return nil
		}
	}
	return fmt.Errorf("processes %v cannot be killed", f.runningMembers())
}

// StrayProcesses is ProcessSweeper.StrayProcesses.
func (l *Local) StrayProcesses(run, part string) []int {
	return newFamily(0, partMark(run, part)).runningMembers()
}

// EndStrayProcesses is ProcessSweeper.EndStrayProcesses.
func (l *Local) EndStrayProcesses(run, part string) error {
	return newFamily(0, partMark(run, part)).end(l.grace)
}

// family is a process and all that come from it.
type family struct {
	head    int            // 0: nobody; the mark alone tells
	mark    []byte         // how the variable begins that members have in their environment
	members map[int]string // pid → start time: all that were seen
}

// process is one line of /proc/PID/stat.
type process struct {
	pid, parent, session int
	start                string // in ticks since boot: tells it from a later one of the same pid
}

// signal sends a signal to all that are alive.
func (f *family) signal(s syscall.Signal) {
	alive := f.runningMembers()
	// The whole group at once first, so that none sees another end.
	if f.head != 0 {
		_ = syscall.Kill(-f.head, s)
	}
	for _, pid := range alive {
		_ = syscall.Kill(pid, s)
	}
}

// runningMembers lists the members that run now.
func (f *family) runningMembers() []int {
	all := listProcesses()
	spared := ancestors(all)
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if f.members[p.pid] != p.start && !spared[p.pid] && f.isMember(p) {
				f.members[p.pid] = p.start
				grown = true
			}
		}
	}
	var alive []int
	for _, p := range all {
		if f.members[p.pid] == p.start {
			alive = append(alive, p.pid)
		}
	}
	return alive
}

func (f *family) isMember(p process) bool {
	if _, seen := f.members[f.head]; f.head != 0 && (p.pid == f.head && !seen || p.session == f.head) {
		return true
	}
	if _, ok := f.members[p.parent]; ok {
		return true
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	return err == nil && slices.ContainsFunc(bytes.Split(environ, []byte{0}),
		func(v []byte) bool { return bytes.HasPrefix(v, f.mark) })
}

// ancestors is this process and those that it comes from: they never belong, even
// if one of them was started by a part.
func ancestors(all []process) map[int]bool {
	parents := make(map[int]int, len(all))
	for _, p := range all {
		parents[p.pid] = p.parent
	}
	spared := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !spared[pid]; pid = parents[pid] {
		spared[pid] = true
	}
	return spared
}

// listProcesses lists what runs; zombies do not.
func listProcesses() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended
		}
		if p, ok := parseStat(pid, string(stat)); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseStat reads /proc/PID/stat: pid (name) state ppid pgrp session …, with
// the start time as the 22nd field; proc(5). The name may hold anything.
func parseStat(pid int, stat string) (process, bool) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	parent, err1 := strconv.Atoi(fields[1])
	session, err2 := strconv.Atoi(fields[3])
	return process{pid: pid, parent: parent, session: session, start: fields[19]}, err1 == nil && err2 == nil
}
