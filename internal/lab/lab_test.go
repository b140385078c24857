package lab

import (
	"errors"
	"strings"
	"testing"
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
