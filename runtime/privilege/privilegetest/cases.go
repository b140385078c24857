package privilegetest

// attemptCase is one program, and what is to come of it.
type attemptCase struct {
	program, name string
	password      string
	script        string
	given         bool   // it gets the password, once
	message, hint string // of the refusal; both empty: the command is started. LOGIN stands for the account
}

func cases() []attemptCase {
	return append(sudoCases(), doasCases()...)
}

func sudoCases() []attemptCase {
	refused := "sudo does not let LOGIN become root"
	rule := "LOGIN ALL=(root) NOPASSWD: ALL in /etc/sudoers.d/tenet"
	wrong := "the password of LOGIN is not the right one for sudo"
	expired := "the account LOGIN or its password has expired"
	return []attemptCase{
		{"sudo", "wants no password", "", `[ -n "$never" ] || exit 9; exec "$@"`, false, "", ""},
		{"sudo", "wants none though there is one", Password, `exec "$@"`, false, "", ""},
		{"sudo", "asks behind its lecture", Password, `say "We trust you have received\nthe usual lecture.\n"; ` + checked, true, "", ""},
		{"sudo", "asks again", "wrong", `for i in 1 2 3; do ` + checked + `say "Sorry, try again.\n"; done; say "sudo: 3 incorrect password attempts\n"; exit 1`, true, wrong, "the password of LOGIN"},
		{"sudo", "asks once", "wrong", checked + `say "sudo: 1 incorrect password attempt\n"; exit 1`, true, wrong, "sudo true"},
		{"sudo", "asks, and there is no password", "", checked, false, "sudo wants a password to let LOGIN become root", rule + ", or --ask-become-pass"},
		{"sudo", "speaks the language that it is told", "", `[ "$LC_ALL" = C ] || { echo "sudo: Ein Passwort ist notwendig" >&2; exit 1; }; ask`, false, "sudo wants a password to let LOGIN become root", rule},
		{"sudo", "wants a new password", Password, `ask; say "sudo: Account or password is expired, reset your password and try again\nCurrent password: "; answer; exit 1`, true, expired, "chage -l LOGIN"},
		{"sudo", "knows a locked account", Password, `ask; say "sudo: account validation failure, is your account locked?\nsudo: a password is required\n"; exit 1`, true, expired, "chage -l LOGIN"},
		{"sudo", "wants a terminal", "", `tty; [ -n "$never" ] || exit 9; exec "$@"`, false, "", ""},
		{"sudo", "wants a terminal and a password", Password, `tty; ` + checked, true, "", ""},
		{"sudo", "wants a terminal and another password", "wrong", `tty; for i in 1 2; do ` + checked + `say "Sorry, try again.\n"; done; exit 1`, true, wrong, "sudo true"},
		{"sudo", "wants a terminal and a new password", Password, `tty; ask; say "sudo: Account or password is expired, reset your password and try again\nCurrent password: "; answer; exit 1`, true, expired, "chage -l LOGIN"},
		{"sudo", "wants a terminal for good", Password, `echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1`, false, "sudo wants a terminal to let LOGIN become root", "Defaults:LOGIN !requiretty"},
		{"sudo", "knows no such rule", "", `say "LOGIN is not in the sudoers file.\n"; exit 1`, false, refused, rule},
		{"sudo", "does not allow the command", Password, `ask; say "Sorry, user deploy is not allowed to execute /bin/sh as root on web1.\n"; exit 1`, true, refused, rule},
		{"sudo", "is sorry", "", `say "sudo: I'm sorry deploy. I'm afraid I can't do that\n"; exit 1`, false, refused, rule},
		{"sudo", "knows no such account", "", `say "sudo: unknown user root\n"; exit 1`, false, "there is no account root to become", "create it first"},
		{"sudo", "is not root's", "", `say "sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set\n"; exit 1`, false, "sudo cannot work", "mounted nosuid"},
		{"sudo", "says something new", "", `say "lots\nsudo: \033[2Jzap\n"; exit 1`, false, refused + ": sudo: ·[2Jzap", rule},
		{"sudo", "says nothing", "", `exit 3`, false, refused, rule},
	}
}

func doasCases() []attemptCase {
	refused := "doas does not let LOGIN become root"
	rule := "permit nopass LOGIN as root in /etc/doas.conf"
	expired := "the account LOGIN or its password has expired"
	const renew = `say "You are required to change your password immediately (administrator enforced).\nChanging password for deploy.\nCurrent password: "; answer; say "doas: Authentication failed\n"; exit 1`
	return []attemptCase{
		{"doas", "wants no password", "", `[ -n "$never" ] || exit 9; exec "$@"`, false, "", ""},
		{"doas", "wants none though there is one", Password, `exec "$@"`, false, "", ""},
		{"doas", "asks", Password, checked, true, "", ""},
		{"doas", "does not take it", "wrong", checked + `say "\ndoas: Authentication failed\n"; exit 1`, true, "the password of LOGIN is not the right one for doas", "doas true"},
		{"doas", "does not take it, without PAM", "wrong", checked + `say "\ndoas: Authorization failed\n"; exit 1`, true, "the password of LOGIN is not the right one for doas", "doas true"},
		{"doas", "asks, and there is no password", "", checked, false, "doas wants a password to let LOGIN become root", rule + ", or --ask-become-pass"},
		{"doas", "speaks the language that it is told", Password, `[ "$LC_ALL" = C ] || { say "Passwort: "; answer; exit 1; }; ` + checked, true, "", ""},
		{"doas", "wants a new password", Password, `ask; ` + renew, true, expired, "chage -l LOGIN"},
		{"doas", "wants a new password of who needs none", "", `say "You are required to change your password immediately.\ndoas: Authentication failed\n"; exit 1`, false, expired, "chage -l LOGIN"},
		{"doas", "does not allow it", "", `say "doas: Operation not permitted\n"; exit 1`, false, refused, rule},
		{"doas", "does not allow it, and there is a password", Password, `say "doas: Operation not permitted\n"; exit 1`, false, refused, rule},
		{"doas", "is not root's", "", `say "doas: not installed setuid\n"; exit 1`, false, "doas cannot work", "mounted nosuid"},
	}
}
