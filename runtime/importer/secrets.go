package importer

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/expr"
	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// secrets names the attributes that are left out because they are secret, where the
// host has one.
func (p *part) secrets(ctx context.Context, h host.Host, m *states.Module, keys map[string]any) {
	for _, a := range m.Attributes {
		if !a.Sensitive || a.In || a.Out || a.Kind != states.KindString {
			continue
		}
		values := map[string]any{a.Name: ""}
		for name, v := range keys {
			values[name] = v
		}
		want, err := m.Decode(values, nil)
		if err != nil {
			continue
		}
		have, err := m.Read(ctx, h, want)
		if err == nil && have != nil {
			// "*" and the like say that there is none.
			if v, _ := m.Encode(have)[a.Name].(string); len(v) < 4 {
				continue
			}
		}
		p.Notes = append(p.Notes, a.Name+` is left out: it is a secret. Keep it with "tenet secret", and give it as secret("NAME")`)
	}
}

// marks are texts that only secrets have.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*(PRIVATE KEY|OpenVPN Static key)|PuTTY-User-Key-File|AGE-SECRET-KEY-1|` +
		// Hashes of passwords: crypt(5), htpasswd, argon2.
		`(^|[^A-Za-z0-9])\$(1|2[abxy]?|5|6|7|y|gy|sha1|md5|apr1|argon2[a-z]*|scram[a-z0-9-]*)\$[^\s:]{8}`)
})

// assignment are settings whose value is a secret, as they are called in most files. It is
// asked only of files that are kept from others.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)((passw(or)?d|passphrase|secret|token|psk|(api|private|secret|access|pre_?shared)_?key|credentials?|(^|[^a-z])(pw|pwd|pass))["']?[ \t]*[=:]|` +
		`(^|\n)[ \t]*(requirepass|masterauth|password|secret)[ \t]|://[^\s/:@"']*:[^\s/:@"']+@)[ \t]*["']?[^\s"'{}]`)
})

// secretNames are files that hold secrets, whatever stands in them.
func secretName(name string) bool {
	switch base := path.Base(name); base {
	case "shadow", "shadow-", "gshadow", "gshadow-", "opasswd", ".pgpass", ".netrc", ".my.cnf", "krb5.keytab", "secrets.tdb", "passdb.tdb", "random_seed":
		return true
	default:
		return slices.Contains([]string{".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".keytab"}, path.Ext(base))
	}
}

// secretIn gives why a file is a secret; empty: it is none that shows.
func secretIn(name string, mode fs.FileMode, text string) string {
	text = withoutSudoTags(name, text)
	switch {
	case secretName(name):
		return "files of this name hold secrets"
	case marks().MatchString(text):
		return "it holds a private key or the hash of a password"
	case mode&0o004 == 0 && assignment().MatchString(text):
		return "others may not read it, and it holds what looks like a password: " + strings.TrimSpace(wordOf(assignment().FindString(text)))
	}
	return ""
}

// sudoTag says, where it is in sudoers, that somebody has to give no password.
var sudoTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bNOPASSWD[ \t]*:`) })

// sudoersTag says whether somebody has to give one, and is that only in sudoers.
var sudoersTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(NO)?PASSWD[ \t]*:`) })

// withoutSudoTags leaves out what only looks like a password.
func withoutSudoTags(name, text string) string {
	tags := sudoTag()
	if name == "/etc/sudoers" || strings.HasPrefix(name, "/etc/sudoers.d/") {
		tags = sudoersTag()
	}
	return tags.ReplaceAllString(text, "")
}

// wordOf gives the name of a setting without its value.
func wordOf(setting string) string {
	if strings.HasPrefix(setting, "://") {
		return "a URL with one"
	}
	name, _, _ := strings.Cut(setting, "=")
	name, _, _ = strings.Cut(name, ":")
	if words := strings.Fields(name); len(words) > 0 { // without a sign between it and its value
		name = words[0]
	}
	return strings.Trim(name, `"'_-.`)
}

// contents gives each content as text, as a file of the site, or not at all.
func (p *part) contents(h host.Host, m *states.Module, values map[string]any, o Options) error {
	if o.Inline == 0 {
		o.Inline = 64 << 10
	}
	source := ""
	for _, a := range m.Attributes {
		if a.Kind == states.KindSource {
			source = a.Name
		}
	}
	for _, a := range m.Attributes {
		v, given := values[a.Name]
		if a.Kind != states.KindContent || !given {
			continue
		}
		text, inline := v.(string)
		file := p.file(h, m)
		if file.path != "" {
			if !inline {
				text = file.begin
			}
			if why := secretIn(file.path, file.mode, text); why != "" {
				return &OmissionError{Why: "it looks like a secret: " + why, Secret: true}
			}
		}
		if inline && len(text) <= o.Inline && readable(text) {
			continue
		}
		delete(values, a.Name)
		switch {
		case o.Files && source != "" && file.path != "" && fs.ValidPath(file.path[1:]):
			p.Copy, p.Size = file.path, file.size
			values[source] = "files" + file.path
		case source != "":
			p.Notes = append(p.Notes, fmt.Sprintf("%s is left out: it is no short text; with --out DIR it is a file of the site", a.Name))
		default:
			p.Notes = append(p.Notes, a.Name+" is left out: it is no short text")
		}
	}
	return nil
}

// onHost is the file that a part stands for.
type onHost struct {
	path  string // empty: there is none
	mode  fs.FileMode
	size  int64  // bytes
	begin string // up to scanned bytes
}

// scanLimit is how much of a large file is searched for secrets.
const scanLimit = 4 << 20

// file finds the regular file that a part's key names.
func (p *part) file(h host.Host, m *states.Module) onHost {
	for _, a := range m.Attributes {
		name, _ := p.keys[a.Name].(string)
		if !a.Key || !a.Path || name == "" {
			continue
		}
		info, err := h.Lstat(name)
		if err != nil || info.Kind != host.Regular {
			continue
		}
		f := onHost{path: name, mode: info.Mode, size: info.Size}
		if r, err := h.Open(name); err == nil {
			data, _ := io.ReadAll(io.LimitReader(r, scanLimit)) // what cannot be read is no part
			_ = r.Close()
			f.begin = string(data)
		}
		return f
	}
	return onHost{}
}

// readable reports whether a text can stand in a state file, and be read there.
func readable(text string) bool {
	return Sayable(text) && !strings.ContainsFunc(text, func(r rune) bool { return diag.Unsafe(r) && !strings.ContainsRune("\n\t\r", r) })
}

// Sayable reports whether the language can hold a text: UTF-8 in its normal form.
func Sayable(s string) bool {
	_, err := expr.Value(s)
	return err == nil
}
