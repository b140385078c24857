package certificate

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenetcm/tenet/modules/internal/check"
	"github.com/tenetcm/tenet/states"
)

func validate(want Certificate) error {
	mistake := func(attribute, message string) error {
		return states.InvalidAttribute(attribute, message, "")
	}
	files := []string{want.Path}
	for _, p := range []*string{want.PrivateKey, want.CA, want.CAKey} {
		if p != nil && p != want.CA {
			files = append(files, *p)
		}
	}
	slices.Sort(files)
	switch {
	case len(slices.Compact(files)) != len(files):
		return mistake("private_key", "the certificate and the keys need a file each")
	case want.CA != nil && *want.CA == want.Path:
		return states.InvalidAttribute("ca", "it cannot be the certificate itself", "leave ca out: then it signs itself")
	case (want.CA == nil) != (want.CAKey == nil):
		return mistake("ca_key", "ca and ca_key are given together")
	case check.True(want.Chain) && want.CA == nil:
		return states.InvalidAttribute("chain", "it has a meaning only beside ca", "leave it out: what signs itself has nobody behind it")
	case want.KeyMode != nil && *want.KeyMode&0o7 != 0:
		return states.InvalidAttribute("key_mode", "a private key is nothing for all users: "+states.FormatMode(*want.KeyMode)+" lets others at it",
			`write "0600" or "0640"`)
	case want.Days != nil && (*want.Days < 1 || *want.Days > 36500):
		return mistake("days", fmt.Sprintf("%d is not from 1 to 36500", *want.Days))
	case want.RenewDays != nil && (*want.RenewDays < 0 || *want.RenewDays >= want.days()):
		return mistake("renew_days", fmt.Sprintf("%d is not from 0 to less than days, %d", *want.RenewDays, want.days()))
	}
	if check.True(want.Request) {
		for _, a := range []struct {
			name  string
			given bool
		}{{"days", want.Days != nil}, {"renew_days", want.RenewDays != nil}, {"ca", want.CA != nil},
			{"usage", len(want.Usage) > 0}, {"authority", check.True(want.Authority)}} {
			if a.given {
				return states.InvalidAttribute(a.name, "it has no meaning for a request: who signs it decides", "leave it out, or request")
			}
		}
	}
	return errors.Join(
		check.Path("path", want.Path),
		check.OptionalPath("private_key", want.PrivateKey),
		check.OptionalPath("ca", want.CA),
		check.OptionalPath("ca_key", want.CAKey),
		check.Account("owner", want.Owner),
		check.Account("group", want.Group),
		checkText("common_name", want.CommonName, 64),
		checkText("organization", want.Organization, 64),
		checkNames(want),
	)
}

func checkText(attribute string, text *string, most int) error {
	if text == nil {
		return nil
	}
	odd := strings.ContainsFunc(*text, func(r rune) bool { return !unicode.IsPrint(r) })
	switch {
	case !utf8.ValidString(*text) || odd:
		return states.InvalidAttribute(attribute, "it is one line of printable text", "")
	case utf8.RuneCountInString(*text) > most:
		return states.InvalidAttribute(attribute, fmt.Sprintf("it has more than %d characters", most),
			"names of hosts stand in names, where they may be longer")
	}
	return nil
}

func checkNames(want Certificate) error {
	for _, n := range want.Names {
		if err := checkDNS(n); err != nil {
			return err
		}
	}
	for _, text := range want.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" || a.Is4In6() {
			return states.InvalidAttribute("addresses", fmt.Sprintf("%.80q is no IP address", text), "")
		}
		if a.String() != text {
			return states.InvalidAttribute("addresses", fmt.Sprintf("%.80q is not the usual form of this address", text), "write "+a.String())
		}
	}
	for _, u := range want.Usage {
		if u != "server" && u != "client" {
			return states.InvalidAttribute("usage", fmt.Sprintf("%.80q is none of server, client", u), "")
		}
	}
	return nil
}

// checkDNS checks a name as it stands in certificates; a star may stand for the first
// label.
func checkDNS(name string) error {
	e := states.InvalidAttribute("names", fmt.Sprintf("%.80q is no DNS name", name), "")
	if len(name) > 253 {
		return e
	}
	for i, label := range strings.Split(name, ".") {
		if label == "*" && i == 0 && strings.Contains(name, ".") {
			continue
		}
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return e
		}
		for _, r := range label {
			switch {
			case r >= 'A' && r <= 'Z':
				e.Hint = "write " + strings.ToLower(name)
				return e
			case r > unicode.MaxASCII:
				e.Hint = "write the name as DNS has it, which begins with xn--"
				return e
			case !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_'):
				return e
			}
		}
	}
	return nil
}

// days is how long a new certificate is valid.
func (c Certificate) days() int {
	if c.Days != nil {
		return *c.Days
	}
	return 365
}

// renewDays is how long before its end it is renewed.
func (c Certificate) renewDays() int {
	if c.RenewDays != nil {
		return *c.RenewDays
	}
	return min(30, c.days()/3)
}
