# way_in PERMIT_ROOT_LOGIN USERS GROUPS LOGIN here|new key|password: does any account have a
# key with which sshd would let it in, where passwords are no way? USERS and GROUPS are names
# with blanks between them; empty means all. LOGIN, if it is not empty, is the account that
# tenet logs in as: it is let in, and if it is new, it has such a key. One that is logged in
# has whatever that took.
root=$1 users=$2 groups=$3 login=$4 known=$5 by=$6
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

# has_key NAME UID HOME SHELL
has_key() {
	case $4 in */nologin | */false | */sync) return 1 ;; esac
	keys=$3/.ssh/authorized_keys
	# An account may put a pipe there, from which nobody ever reads to the end.
	[ -f "$keys" ] && timeout 10 grep -Eqs "^([^#].*[[:space:]])?($kinds)[[:space:]]+AAAA" "$keys" && acceptable "$2" "$3" "$3/.ssh" "$keys" && ! expired "$1"
}

# refused NAME UID says why sshd would not let the account in.
refused() {
	if [ "$2" = 0 ] && [ "$root" = no ]; then
		echo 'permit_root_login is "no"'
	elif [ -n "$users" ] && ! among "$1" "$users"; then
		echo 'allow_users does not name it'
	elif [ -n "$groups" ] && ! in_group "$1"; then
		echo 'it is in none of allow_groups'
	else
		return 1
	fi
}

if [ -n "$login" ]; then
	entry=$(getent passwd "$login") || entry=
	IFS=: read -r name _ uid _ _ home shell <<-END
		$entry
	END
	why=
	if [ -z "$entry" ]; then
		why='there is no such account'
	elif ! why=$(refused "$name" "$uid") && [ "$known" = new ] && ! has_key "$name" "$uid" "$home" "$shell"; then
		why='it has no key in ~/.ssh/authorized_keys that sshd would take'
	fi
	if [ -n "$why" ]; then
		if [ "$known" = new ]; then
			echo "tenet could not log in as $login: $why." >&2
			exit 1
		fi
		echo "tenet, which is logged in as $login, could not log in any more: $why." >&2
		echo 'Let that account in, or name the one that is used from now on: login = "NAME".' >&2
		exit 1
	fi
fi

[ "$by" = key ] || exit 0

# A loop in a pipe is a process of its own: its answer is its exit status.
getent passwd | {
	while IFS=: read -r name _ uid _ _ home shell; do
		refused "$name" "$uid" > /dev/null && continue
		has_key "$name" "$uid" "$home" "$shell" && exit 0
	done
	exit 1
} && exit 0

echo 'nobody could log in: no account that is let in has a key in ~/.ssh/authorized_keys that sshd would take.' >&2
echo 'Give an account a key (std/users), or set allow_lockout = true.' >&2
exit 1
