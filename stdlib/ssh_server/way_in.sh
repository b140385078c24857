# way_in PERMIT_ROOT_LOGIN USERS GROUPS: does any account have a key with which
# sshd would let it in? USERS and GROUPS are names with blanks between them; empty
# means all.
root=$1 users=$2 groups=$3
today=$(($(date +%s) / 86400))

among() { # among NAME LIST
	case " $2 " in *" $1 "*) return 0 ;; esac
	return 1
}

in_group() { # in_group NAME
	for group in $(id -nG "$1" 2>/dev/null); do
		among "$group" "$groups" && return 0
	done
	return 1
}

expired() { # expired NAME
	day=$(getent shadow "$1" | cut -d: -f8)
	[ -n "$day" ] && [ "$day" -le "$today" ]
}

# sshd wants what leads to the keys to be writable by its owner alone.
acceptable() { # acceptable UID PATH…
	uid=$1
	shift
	for path; do
		[ -z "$(find "$path" -maxdepth 0 -perm /022)" ] || return 1
		case $(stat -L -c %u "$path") in "$uid" | 0) ;; *) return 1 ;; esac
	done
}

kinds='ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com'

# A loop in a pipe is a process of its own: its answer is its exit status.
getent passwd | {
	while IFS=: read -r name _ uid _ _ home shell; do
		case $shell in */nologin | */false | */sync) continue ;; esac
		[ "$uid" != 0 ] || [ "$root" != no ] || continue
		[ -z "$users" ] || among "$name" "$users" || continue
		keys=$home/.ssh/authorized_keys
		grep -Eqs "^([^#].*[[:space:]])?($kinds)[[:space:]]+AAAA" "$keys" || continue
		acceptable "$uid" "$home" "$home/.ssh" "$keys" || continue
		[ -z "$groups" ] || in_group "$name" || continue
		expired "$name" && continue
		exit 0
	done
	exit 1
} && exit 0

echo 'nobody could log in: no account that is let in has a key in ~/.ssh/authorized_keys that sshd would take.' >&2
echo 'Give an account a key (std/users), or set allow_lockout = true.' >&2
exit 1
