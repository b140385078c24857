package moduletest_test

import (
	"strings"
	"testing"

	"github.com/tenetcm/tenet/modules/internal/sshkey"
)

const (
	sshKeyEd25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJGaDKCEuqem8pbzUlITp2rGeMIFwXHm/tjYTy6Eff63"
	sshKeyECDSA   = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGEkrs/P3Q102ybGVDYrxvrAqTVozR1OeXlRoYhuqoGot09jwNEun2TgUdXfRtUlwZxtO6G4q+7iftOJdGhDNj0="
	sshKeyRSA     = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDJorexON8uaABra14aKjUmISkErTNOeq+/wgejdO31s8HZMUdfbIuJh4qLUreZz/Jf1ev3TluAUEzsvmYKs7XCW6ALZTtACCdCqjLejXv/9EVdlkTivFdasz3NPs2ZktUmkUThNih6YKR4PuivcntyEsz+3TqKsUqb6XhkS+eSls7D9YUUsXTXdOPluoLY/AGeZhsM674Y8iRmlruxs/pjKe9uXIW8+BqKmTQWLNOZNTm30t0pnVvAWpZKVV96N+73UF1iDH+/U9P0RAJ+JFIh/Kl+dlAJ0z99Ukif8lTIJ+rOqFyX6QTnL0IG9boC377mVYvYbKafRhplTA8RFJFN"

	// What OpenSSH does not take: 520 bits, and a point beside the curve.
	shortRSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAQgCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACQ=="
	offCurve = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBGEkrs/P3Q102ybGVDYrxvrAqTVozR1OeXlRoYhuqoGot09jwNEun2TgUdXfRtUlwZxtO6G4q+7iftOJdGhDNjw="
)

func TestSSHKeyParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		sshKeyEd25519:               sshKeyEd25519,
		" " + sshKeyRSA + "\td  e ": sshKeyRSA + " d  e",
		sshKeyECDSA + " a@b":        sshKeyECDSA + " a@b",
		`command="echo \"ssh-rsa\" x",no-pty  ` + sshKeyEd25519 + " b b": `command="echo \"ssh-rsa\" x",no-pty ` + sshKeyEd25519 + " b b",
		"restrict " + sshKeyEd25519:                                      "restrict " + sshKeyEd25519,
	} {
		if k, err := sshkey.Parse(line); err != nil || k.String() != want {
			t.Errorf("%q is %q, %v", line, k, err)
		}
	}
	for line, want := range map[string]string{
		"":                                   "no type",
		"# a comment":                        "no type",
		"ssh-dss AAAA":                       "no type",
		"ssh-ed25519":                        "not whole",
		"ssh-ed25519 AAAA":                   "not whole",
		"ssh-ed25519 not_base64":             "no base64",
		sshKeyEd25519[:len(sshKeyEd25519)-4]: "not whole",
		sshKeyEd25519 + "AAAA":               "not whole",
		shortRSA:                             "520 bits",
		offCurve:                             "not whole",
		"ssh-rsa " + strings.Fields(sshKeyEd25519)[1]: "another type within",
	} {
		if k, err := sshkey.Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %q, %v; want %q", line, k, err, want)
		}
	}
}

// What is read is read again from what is written.
func FuzzSSHKeyParse(f *testing.F) {
	for _, s := range []string{sshKeyEd25519, `a="b c" ` + sshKeyECDSA + " x", sshKeyRSA, `"`, `a\" ` + sshKeyEd25519} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		k, err := sshkey.Parse(line)
		if err != nil {
			return
		}
		if again, err := sshkey.Parse(k.String()); err != nil || again != k {
			t.Errorf("%q: %+v, and then %+v, %v", line, k, again, err)
		}
	})
}
