package lab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

func TestMissingToolsNameTheCommandThatInstallsThem(t *testing.T) {
	look := func(tool string) (string, error) {
		if tool == "debootstrap" || tool == "systemd-nspawn" {
			return "", errors.New("not found")
		}
		return "/usr/bin/" + tool, nil
	}
	err := checkTools(0, look)
	if err == nil || !strings.Contains(err.Error(), "apt-get install --no-install-recommends -y debootstrap systemd-container") {
		t.Errorf("got %v", err)
	}
	all := func(tool string) (string, error) { return "/usr/bin/" + tool, nil }
	if err := checkTools(0, all); err != nil {
		t.Errorf("with all tools: %v", err)
	}
	if err := checkTools(1000, all); err == nil {
		t.Error("an unprivileged user gets no error")
	}
}

func TestMissingToolsOfOnePackage(t *testing.T) {
	err := checkTools(0, func(tool string) (string, error) { return "", errors.New("not found") })
	if err == nil || strings.Count(err.Error(), "iproute2") != 1 || strings.Count(err.Error(), "util-linux") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestAnswersToQuestionsForNames(t *testing.T) {
	lookup := func(name string) string {
		if name == "b" {
			return "10.77.0.12"
		}
		return ""
	}
	ask := func(name string, kind dnsmessage.Type) dnsmessage.Message {
		t.Helper()
		q := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
			Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
		}
		data, err := q.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(answer(data, lookup)); err != nil || m.ID != 7 || !m.Response {
			t.Fatalf("no answer for %s: %+v, %v", name, m, err)
		}
		return m
	}
	if m := ask("b.", dnsmessage.TypeA); len(m.Answers) != 1 || m.Answers[0].Body.(*dnsmessage.AResource).A != [4]byte{10, 77, 0, 12} {
		t.Errorf("got %+v", m)
	}
	if m := ask("b.", dnsmessage.TypeAAAA); len(m.Answers) != 0 || m.RCode != dnsmessage.RCodeSuccess {
		t.Errorf("got %+v", m)
	}
	if m := ask("c.", dnsmessage.TypeA); m.RCode != dnsmessage.RCodeNameError {
		t.Errorf("got %+v", m)
	}
	for _, garbage := range []string{"", "x", strings.Repeat("\xff", 60)} {
		if got := answer([]byte(garbage), lookup); got != nil {
			t.Errorf("%q is answered", garbage)
		}
	}
}

func TestMirrorIsDebiansOwn(t *testing.T) {
	targets := "Other|main|https://other.test/apt/\n" +
		"Debian-Security|main|https://mirror.test/debian-security/\n" +
		"Debian|contrib|https://mirror.test/contrib/\n" +
		"Debian|main|https://mirror.test/debian/\n"
	if got, want := mirrorOf(targets), "https://mirror.test/debian/"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := mirrorOf("Other|main|https://other.test/apt/\n"); got != "" {
		t.Errorf("a foreign repository was taken for Debian: %q", got)
	}
}

func TestStatusField(t *testing.T) {
	status := []byte("Name:\tsystemd\nPPid:\t17\nNSpid:\t204\t1\n")
	if got := string(field(status, "NSpid")); got != "204\t1" {
		t.Errorf("NSpid: %q", got)
	}
	if got := field(status, "Uid"); got != nil {
		t.Errorf("Uid: %q", got)
	}
}

// Bases of other versions go, but not while a run uses them.
func TestPrune(t *testing.T) {
	cache := t.TempDir()
	dir := func(name string) string {
		path := filepath.Join(cache, name)
		if err := os.MkdirAll(filepath.Join(path, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(cache)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return names
	}
	kept, used := dir("bookworm-000000000001"), dir("bookworm-000000000002")
	for _, name := range []string{"bookworm-000000000003", "gone", "partial"} {
		dir(name)
	}
	held, err := hold(used)
	if err != nil {
		t.Fatal(err)
	}
	if err := prune(cache, kept); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []string{"bookworm-000000000001", "bookworm-000000000002", "partial"}) {
		t.Errorf("left are %q", got)
	}
	if err := errors.Join(held.Close(), prune(cache, kept)); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []string{"bookworm-000000000001", "partial"}) {
		t.Errorf("after its run left are %q", got)
	}
	if f, err := hold(used); err == nil {
		t.Error("what is gone is held", f.Close())
	}
}
