# restore VERSION CONFIGURATION FILE: put back what FILE was before its last change, as far
# as the server takes that. It is run by who the server runs as, whose folder it is.
if [ -e "$3.~tenet~" ]; then
	mv -fT -- "$3.~tenet~" "$3" || exit
	"/usr/lib/postgresql/$1/bin/postgres" -D "$2" -C data_directory > /dev/null || rm -f -- "$3"
else
	rm -f -- "$3"
fi
