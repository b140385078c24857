// Package postgrestest runs Debian's PostgreSQL for tests, in a folder of its own.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is Debian's PostgreSQL, as an account that is not root, in a folder of its own.
type Server struct {
	dir, bin  string
	account   *syscall.SysProcAttr
	databases atomic.Int64
}

// New starts one, which ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		t.Fatal("there is no PostgreSQL: apt-get install postgresql")
	}
	dir, err := os.MkdirTemp("", "tenet-pg-") // short, for the socket
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{dir: dir, bin: filepath.Dir(found[len(found)-1])}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		must(t, err)
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		must(t, errors.Join(err1, err2, os.Chown(dir, uid, gid)))
		s.account = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	s.run(t, "initdb", "-D", dir+"/data", "-U", "postgres", "--auth=trust", "--locale=en_US.UTF-8", "-E", "UTF8")
	s.Start(t)
	t.Cleanup(func() { s.command("pg_ctl", "-D", dir+"/data", "-m", "immediate", "-w", "stop").Run() })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.SysProcAttr, c.Dir = s.account, s.dir
	return c
}

func (s *Server) run(t testing.TB, name string, args ...string) {
	t.Helper()
	if name == "initdb" { // a locale that sorts otherwise than by bytes, where there is one
		if out, err := exec.Command("locale", "-a").Output(); err != nil || !strings.Contains(string(out), "en_US.utf8") {
			args[5] = "--locale=C.UTF-8"
		}
	}
	if out, err := s.command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Start starts one that was killed, of which something may still be about to end.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	var out []byte
	for range 600 {
		var err error
		if out, err = s.command("pg_ctl", "-D", s.dir+"/data", "-w", "-l", s.dir+"/log", "-o", "-k "+s.dir+" -c listen_addresses=''", "start").CombinedOutput(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	log, _ := os.ReadFile(s.dir + "/log")
	t.Fatalf("%s\n%s", out, log)
}

// Database makes a database, and gives its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("t%d", s.databases.Add(1))
	s.Do(t, s.url("postgres"), "CREATE DATABASE "+name)
	return s.url(name)
}

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, s.dir)
}

// Do runs a statement in a database as the administrator.
func (s *Server) Do(t testing.TB, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	must(t, err)
	defer c.Close(context.Background())
	_, err = c.Exec(context.Background(), sql)
	must(t, err)
}

// Steal ends the connection of whoever is elected in a database.
func (s *Server) Steal(t testing.TB, url string) {
	t.Helper()
	s.Do(t, url, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
}

// Kill ends the server and all processes of it at once.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	pid, err := os.ReadFile(s.dir + "/data/postmaster.pid")
	must(t, err)
	first, _, _ := strings.Cut(string(pid), "\n")
	children, err := os.ReadFile("/proc/" + first + "/task/" + first + "/children")
	must(t, err)
	for _, name := range append([]string{first}, strings.Fields(string(children))...) {
		n, err := strconv.Atoi(name)
		must(t, err)
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Error(err)
		}
	}
}
