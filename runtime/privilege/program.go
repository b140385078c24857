// Package privilege lets an account act as another one by sudo or doas, on this machine
// and on others: what these programs are called with, what they say and what helps, the
// dialogue about a password, and a terminal for who takes one from nothing else.
//
// A password goes to the program that was started, once, and only while nobody else can
// have asked for it. It is in no argument, no environment and no message.
package privilege

// Program lets an account act as another one.
type Program struct {
	Name string

	options      []string // always
	noPassword   []string // to fail rather than ask for one
	passwordPipe []string // to read one from the standard input; the prompt follows
	promptOption []string // the prompt follows, on a terminal; nil: nothing sets it
	prompt       string   // on a terminal, where nothing sets it: how its end reads in English
	rule         string   // what lets one account become another one without a password: a format of both
	signs        []sign
}

// sign is how a program says why it refuses.
type sign struct {
	kind  Kind
	words []string // any of them
}

// Programs are sudo and doas. The first that is there is taken where nobody says which.
func Programs() []Program { return []Program{sudo(), doas()} }

// Names are the names of the programs.
func Names() []string {
	var names []string
	for _, p := range Programs() {
		names = append(names, p.Name)
	}
	return names
}

// Find gives the program of a name.
func Find(name string) (Program, bool) {
	for _, p := range Programs() {
		if p.Name == name {
			return p, true
		}
	}
	return Program{}, false
}

// sudo is Todd Miller's, and sudo-rs where that says something else.
func sudo() Program {
	return Program{
		Name: "sudo", options: []string{"-H"}, noPassword: []string{"-n"}, passwordPipe: []string{"-S", "-p"}, promptOption: []string{"-p"},
		rule: "%s ALL=(%s) NOPASSWD: ALL in /etc/sudoers.d/tenet",
		// The reason stands before what comes of it: who has expired is asked for a new
		// password, and who cannot be asked lacks one.
		signs: []sign{
			{AccountExpired, []string{"password is expired", "Password expired", "Account expired", "is your account locked", "required to change your password"}},
			{WrongPassword, []string{"incorrect password", "Sorry, try again", "Authentication failed", "incorrect authentication"}},
			{NeedsTerminal, []string{"must have a tty", "no tty present", "a terminal is required"}},
			{NeedsPassword, []string{"password is required", "authentication is required"}},
			{NoAccount, []string{"unknown user", "invalid user", "user not found"}},
			{NotAllowed, []string{"not in the sudoers", "not allowed to", "may not run sudo", "I'm sorry"}},
			{CannotWork, []string{"no new privileges", "must be owned by uid 0", "effective uid is not 0", "setuid"}},
		},
	}
}

// doas is OpenDoas, with PAM and without.
func doas() Program {
	return Program{
		Name: "doas", noPassword: []string{"-n"}, prompt: "assword: ",
		rule: "permit nopass %s as %s in /etc/doas.conf",
		signs: []sign{
			{AccountExpired, []string{"required to change your password", "account has expired"}},
			{WrongPassword, []string{"incorrect password", "Authentication failed", "Authorization failed"}},
			{NeedsPassword, []string{"Authentication required", "Authorization required"}},
			{NoAccount, []string{"unknown user"}},
			{NotAllowed, []string{"Operation not permitted"}},
			{CannotWork, []string{"setuid"}},
		},
	}
}
