# accepted FILE: does nginx take its configuration, with FILE as it is now? Where it refuses
# the rest in the same way without FILE, that one is not to blame: what somebody has broken
# elsewhere is put right by the part that keeps it, or told when nginx is to use it.
check() { nginx -t -q 2>&1; }

# without_time takes the time and the number of the process away from what nginx says.
without_time() {
	sed 's/^[0-9/]* [0-9:]* \(\[[a-z]*\]\) [0-9]*#[0-9]*: /\1 /' <<-END
		$1
	END
}

said=$(check) && exit 0
trap '[ ! -e "$1.~check~" ] || mv -f -- "$1.~check~" "$1"' EXIT
trap 'exit 1' HUP INT TERM
mv -f -- "$1" "$1.~check~" || exit 1
rest=$(check) || [ "$(without_time "$rest")" != "$(without_time "$said")" ] || exit 0
cat >&2 <<-END
	$said
END
exit 1
