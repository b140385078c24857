package site

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/tenetcm/tenet/lang/diag"
)

// CheckAddress says what is wrong with the address of a host: it is a name that
// the OpenSSH client knows, or an IP address. The error is a *diag.HintError.
func CheckAddress(address string) error {
	wrong := func(why, hint string) error {
		return &diag.HintError{Message: fmt.Sprintf("%q is no address of a host: %s", address, why),
			Hint: cmp.Or(hint, `write a name or an IP address: "192.0.2.1"`)}
	}
	switch {
	case address == "":
		return wrong("it is empty", "")
	case address[0] == '-':
		return wrong("it begins with -, as an option does", "")
	case strings.Contains(address, "@"):
		return wrong("it names a user as well", `give the user by itself: user = "deploy"`)
	case strings.Contains(address, "://"):
		return wrong("it is a URL", "")
	case strings.HasPrefix(address, "["), strings.Count(address, ":") == 1:
		return wrong("it names a port as well", "give the port by itself: port = 2222")
	}
	if i := strings.IndexFunc(address, unsafeRune); i >= 0 || strings.Contains(address, "/") {
		return wrong("it holds a character that no address has", "")
	}
	return nil
}

// CheckUser says what is wrong with the name of who logs in. The error is a
// *diag.HintError.
func CheckUser(user string) error {
	if user == "" || user[0] == '-' || strings.IndexFunc(user, unsafeRune) >= 0 {
		return &diag.HintError{Message: fmt.Sprintf("%q is no name of a user", user), Hint: `write the name of an account: "deploy"`}
	}
	return nil
}

// unsafeRune reports what neither names nor addresses hold, and programs that the
// OpenSSH client is told to start could take for something else.
func unsafeRune(r rune) bool {
	return r > unicode.MaxASCII || unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("'`\"$\\;&<>|(){}*?!,#", r)
}

// CheckSSHOption says what is wrong with an option of the OpenSSH client that a host
// is given. The error is a *diag.HintError.
func CheckSSHOption(option string) error {
	name, value, ok := strings.Cut(option, "=")
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	switch {
	case strings.ContainsFunc(option, unicode.IsControl):
		return &diag.HintError{Message: fmt.Sprintf("%q is no option of the OpenSSH client: it holds a control character", option), Hint: "an option is one line"}
	case !ok || value == "" || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !letter(r) }):
		return &diag.HintError{Message: fmt.Sprintf("%q is no option of the OpenSSH client", option),
			Hint: `write NAME=VALUE, as for its -o: "ProxyJump=gate"; man ssh_config has the names`}
	}
	name = strings.ToLower(name)
	// The client takes white space and quotes around a value away.
	bare := strings.ToLower(strings.Trim(value, "= \"'"))
	if name == "stricthostkeychecking" && slices.Contains([]string{"no", "off", "false"}, bare) {
		return &diag.HintError{Message: option + " cannot be given: host keys are always checked",
			Hint: "leave it out, or write StrictHostKeyChecking=accept-new; known_host parts and ssh-keyscan fill known_hosts"}
	}
	if why := reservedOptions()[name]; why != "" {
		return &diag.HintError{Message: option + " cannot be given: " + why, Hint: "leave it out"}
	}
	return nil
}

// reservedOptions are those that nobody but this program may set, and why.
func reservedOptions() map[string]string {
	const (
		starts = "it is how the program on the host is started"
		pipe   = "the connection carries data, not a terminal"
	)
	return map[string]string{
		"batchmode": "nobody is there to answer a question", "remotecommand": starts, "sessiontype": starts, "requesttty": pipe,
		"escapechar": pipe, "stdinnull": pipe, "forkafterauthentication": "the connection is read until it ends",
		"localcommand": "nothing is run on this machine", "permitlocalcommand": "nothing is run on this machine",
		"clearallforwardings": "no ports are forwarded",
	}
}

// CheckRunnerCache reports a folder on a host that cannot keep the runner.
func CheckRunnerCache(dir string) error {
	switch {
	case strings.ContainsFunc(dir, unicode.IsControl):
		return fmt.Errorf("%q holds a control character", dir)
	case !path.IsAbs(dir):
		return fmt.Errorf("%q is no absolute path", dir)
	}
	return nil
}
