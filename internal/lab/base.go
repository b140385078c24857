package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the script that finishes a base
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// suite is the Debian release of the lab's hosts.
const suite = "bookworm"

// packages are what every host has beyond a minimal Debian.
func packages() []string {
	return []string{
		"systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd",
		"iproute2", "procps", "util-linux", "mount", "kmod", "tzdata", "locales",
		"openssh-server", "cron", "sudo", "nginx", "git", "openssl", "curl", "ca-certificates",
		"rsync", "xz-utils", "bzip2", "zstd", "unzip",
	}
}

// Repositories of packages on every host, which has no other. Each is signed with
// the key that lies in it as key.gpg and key.asc.
const (
	// Packages holds small packages made for tests, in two versions; apt knows it
	// from the start. See base.sh for what is special about each.
	Packages = "/opt/lab"
	// Parcels holds packages of Debian that are not installed, or that tests remove.
	// No source of apt's names it: a test does that, if it wants to.
	Parcels = "/opt/parcels"
)

// parcels are the packages in it, beside what they depend on; what is in one line
// can be installed together.
func parcels() []string {
	return []string{
		"openssh-server sudo cron nginx nginx-common git postgresql ca-certificates gpg opendoas",
		"podman crun conmon netavark aardvark-dns busybox-static",
		"dnf rpm createrepo-c zypper",
		"pacman-package-manager",
		"openrc sysvinit-core",
		"csh fish",
	}
}

// finish is run in the new base, with parcels as arguments. The hosts have no
// way out: what they install comes from repositories of their own.
//
//go:embed base.sh
var finish string

// Build makes the base system, or finds it in the cache, and returns its
// directory. A base is made beside its place and renamed, so that it is whole
// or not there; its name tells what it is made of. With a new one, those of other
// versions go, unless a run uses them.
func Build(ctx context.Context) (string, error) {
	dir := filepath.Join(CacheDir, baseName())
	if err := os.MkdirAll(CacheDir, 0o755); err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // nobody waits for another base that is being made
	}
	lock, err := lockFile(filepath.Join(CacheDir, "lock"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	mirror, err := findMirror(ctx)
	if err != nil {
		return "", err
	}
	partial := filepath.Join(CacheDir, "partial")
	err = assemble(ctx, mirror, partial)
	if err != nil && ctx.Err() == nil { // a mirror may fail for a moment
		err = assemble(ctx, mirror, partial)
	}
	if err != nil {
		return "", fmt.Errorf("lab: building the base system: %w", err)
	}
	if err := os.Rename(partial, dir); err != nil {
		return "", err
	}
	return dir, prune(CacheDir, dir)
}

// assemble makes a base system in a directory of which nothing is kept.
func assemble(ctx context.Context, mirror, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	// In a mount namespace of its own, so that no mount outlives it.
	err := quietly(ctx, "unshare", "--mount", "debootstrap", "--variant=minbase",
		"--include="+strings.Join(packages(), ","), suite, dir, mirror)
	if err != nil {
		return err
	}
	argv := []string{"unshare", "--mount", "chroot", dir, "env", "LAB=" + Packages, "PARCELS=" + Parcels, "NAMESERVER=" + gateway, "sh", "-c", finish, "finish"}
	return quietly(ctx, append(argv, parcels()...)...)
}

// hold keeps a base from being removed, until the file is closed.
func hold(base string) (*os.File, error) {
	f, err := os.Open(base)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	if err == nil {
		_, err = os.Stat(base) // it may have been removed just before
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lab: hold %s: %w", base, err), f.Close())
	}
	return f, nil
}

// prune removes the bases of other versions that nobody holds.
func prune(cache, keep string) error {
	bases, err := filepath.Glob(filepath.Join(cache, "*-????????????"))
	if err != nil {
		return err
	}
	gone := filepath.Join(cache, "gone") // half a base must not look like one
	errs := []error{os.RemoveAll(gone)}
	for _, base := range bases {
		if base == keep {
			continue
		}
		f, err := os.Open(base)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			err = errors.Join(os.Rename(base, gone), os.RemoveAll(gone))
		} else if errors.Is(err, syscall.EWOULDBLOCK) {
			err = nil // a run of another version uses it
		}
		errs = append(errs, err, f.Close())
	}
	return errors.Join(errs...)
}

// baseName is different for every content of the base system.
func baseName() string {
	sum := sha256.Sum256([]byte(suite + "\n" + strings.Join(packages(), " ") + "\n" + strings.Join(parcels(), "\n") + "\n" + Packages + Parcels + gateway + finish))
	return fmt.Sprintf("%s-%x", suite, sum[:6])
}

// findMirror asks apt where this machine gets Debian from.
func findMirror(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "Created-By: Packages",
		"--format", "$(LABEL)|$(COMPONENT)|$(REPO_URI)").Output()
	if err != nil {
		return "", fmt.Errorf("lab: apt-get indextargets: %w", err)
	}
	if mirror := mirrorOf(string(out)); mirror != "" {
		return mirror, nil
	}
	return "", errors.New("lab: apt knows no Debian mirror: apt-get update")
}

func mirrorOf(targets string) string {
	for line := range strings.Lines(targets) {
		fields := strings.SplitN(strings.TrimSpace(line), "|", 3)
		if len(fields) == 3 && fields[0] == "Debian" && fields[1] == "main" {
			return fields[2]
		}
	}
	return ""
}

// quietly runs a program and shows the end of its output only when it fails.
func quietly(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
		tail := bytes.Join(lines[max(0, len(lines)-15):], []byte("\n"))
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, tail)
	}
	return nil
}
