package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stand-in for sshd: it reads Port and AllowUsers in its configuration, anew when
// it gets a SIGHUP, and lets in whom that allows. Once it does, the file "loaded" holds
// the configuration, and "log" all so far. login logs in.
//
//	sshd CONFIG
//	login PORT USER

// serveLogins is the program sshd.
func serveLogins() {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	for {
		listener, allowed, err := configured(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := loaded(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				go answer(c, allowed)
			}
		}()
		<-hangups
		_ = listener.Close()
	}
}

// loaded tells that a configuration is in force.
func loaded(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	log, err := os.OpenFile("log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = log.Write(data)
	return errors.Join(err, log.Close(), os.WriteFile("loaded", data, 0o600))
}

// configured listens as a configuration says.
func configured(path string) (listener net.Listener, allowed string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	port := ""
	for line := range strings.Lines(string(data)) {
		switch word, value, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "Port":
			port = value
		case "AllowUsers":
			allowed = value
		}
	}
	listener, err = net.Listen("tcp", "127.0.0.1:"+port)
	return listener, allowed, err
}

func answer(c net.Conn, allowed string) {
	defer c.Close()
	user, _ := bufio.NewReader(c).ReadString('\n')
	if strings.TrimSpace(user) == allowed {
		_, _ = io.WriteString(c, "welcome\n")
	}
}

// login logs in, or says why it could not.
func login(port, user string) error {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, user+"\n"); err != nil {
		return err
	}
	if said, _ := bufio.NewReader(c).ReadString('\n'); said != "welcome\n" {
		return errors.New("permission denied")
	}
	return nil
}

// logIn is the program login.
func logIn() {
	if err := login(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(255)
	}
}

// lockout is a site that lets in another user, at another port, than its
// controller uses.
const lockout = `
variable "dir" {}
variable "port" {}
variable "new_port" {}
variable "user" {}
variable "within" {}

block "ssh" {
  confirm {
    timeout = var.within
    command = ["${var.dir}/login", var.port, "admin"]
  }
  file "sshd_config" {
    path    = "${var.dir}/sshd_config"
    content = "Port ${var.new_port}\nAllowUsers ${var.user}\n"
    notify  = [state.reload]
  }
}

state "reload" {
  lazy = true
  command "reload" {
    shell = "kill -HUP $(cat ${var.dir}/pid); until test \"$(cat ${var.dir}/sshd_config)\" = \"$(cat ${var.dir}/loaded)\"; do sleep 0.01; done"
  }
}
`

// machine has a stand-in sshd.
type machine struct {
	t    *testing.T
	dir  string
	port string
	self string
}

func newMachine(t *testing.T) *machine {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, dir: t.TempDir(), port: freePort(t), self: self}
	m.write("site.hcl", lockout)
	m.write("sshd_config", configuration(m.port, "admin"))
	if err := os.Symlink(self, filepath.Join(m.dir, "login")); err != nil {
		t.Fatal(err)
	}
	sshd := m.program("sshd", filepath.Join(m.dir, "sshd_config"))
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	m.write("pid", strconv.Itoa(sshd.Process.Pid))
	t.Cleanup(func() {
		_ = sshd.Process.Kill()
		_ = sshd.Wait()
	})
	m.until(func() bool { return login(m.port, "admin") == nil })
	return m
}

// configuration is one of sshd.
func configuration(port, user string) string { return "Port " + port + "\nAllowUsers " + user + "\n" }

// freePort is below the ports that the kernel gives to others.
func freePort(t *testing.T) string {
	for range 1000 {
		port := strconv.Itoa(20_000 + rand.IntN(10_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

func (m *machine) write(name, text string) {
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// program is this test as one of its programs.
func (m *machine) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(m.self)
	cmd.Args = append([]string{name}, args...)
	cmd.Dir, cmd.Env = m.dir, []string{"HOME=" + m.dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + race}
	return cmd
}

// apply starts an apply that lets in a user at a port, to be confirmed within a time.
func (m *machine) apply(port, user, within string) (cmd *exec.Cmd, out *bytes.Buffer) {
	cmd = m.program("tenet", "apply", "--yes", "--state-dir", "state", "--var", "dir="+m.dir,
		"--var", "port="+m.port, "--var", "new_port="+port, "--var", "user="+user, "--var", "within="+within, "site.hcl")
	out = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	return cmd, out
}

func (m *machine) until(done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatal("nothing happens")
		}
	}
}

// mayLogIn wants that the controller can log in, and that the configuration is
// as it was at first, after the one that locked it out.
func (m *machine) mayLogIn(port, user string, out *bytes.Buffer) {
	m.t.Helper()
	m.until(func() bool { return login(m.port, "admin") == nil })
	data, err := os.ReadFile(filepath.Join(m.dir, "sshd_config"))
	want := configuration(m.port, "admin")
	if err != nil || string(data) != want {
		m.t.Errorf("sshd_config is %q, %v\n%s", data, err, out)
	}
	if log, err := os.ReadFile(filepath.Join(m.dir, "log")); err != nil || !strings.HasPrefix(string(log), want+configuration(port, user)+want) {
		m.t.Errorf("what sshd was told: %q, %v\n%s", log, err, out)
	}
}

// A configuration of sshd that locks out the controller is put back within the
// time that its confirm gives.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ user, port string }{"user": {user: "nobody"}, "port": {"admin", freePort(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			if c.port == "" {
				c.port = m.port
			}
			start := time.Now()
			cmd, out := m.apply(c.port, c.user, "1s")
			_ = cmd.Wait()
			took := time.Since(start)
			m.mayLogIn(c.port, c.user, out)
			if code := cmd.ProcessState.ExitCode(); code != 1 || took < time.Second || took > patience {
				t.Errorf("exit status %d after %s", code, took)
			}
			for _, want := range []string{"it stays if", "restored " + m.dir + "/sshd_config", "not confirmed: restored 1 path", "at site.hcl:"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not say %q:\n%s", want, out)
				}
			}
			if left, _ := os.ReadDir(filepath.Join(m.dir, "state/runs")); len(left) != 1 {
				t.Errorf("%d runs", len(left))
			} else if _, err := os.Stat(filepath.Join(m.dir, "state/runs", left[0].Name(), "backup")); err == nil {
				t.Error("the backups are there still")
			}
		})
	}
	t.Run("good", func(t *testing.T) { // and one that lets it in stays
		t.Parallel()
		m := newMachine(t)
		cmd, out := m.apply(m.port, "admin", "10m")
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "unchanged") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// So it is when the apply ends because its terminal is gone, and by the next one
// when it was killed.
func TestLockedOutAndHungUp(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]syscall.Signal{"hung up": syscall.SIGHUP, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			cmd, out := m.apply(m.port, "nobody", "10m")
			m.until(func() bool { return login(m.port, "admin") != nil })
			if err := cmd.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if sent == syscall.SIGHUP {
				m.mayLogIn(m.port, "nobody", out)
				if code := cmd.ProcessState.ExitCode(); code != 4 {
					t.Errorf("exit status %d: %s", code, out)
				}
				return
			}
			if login(m.port, "admin") == nil {
				t.Fatal("it is not locked out")
			}
			cmd, out = m.apply(m.port, "admin", "10m") // which has nothing to do but that
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			m.mayLogIn(m.port, "nobody", out)
			for _, want := range []string{"its check was not seen to end", "restored " + m.dir + "/sshd_config", "not confirmed: restored 1 path"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
