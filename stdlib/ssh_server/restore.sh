# restore FILE: put back what the file was before its last change.
if [ -e "$1.~tenet~" ]; then
	mv -f -- "$1.~tenet~" "$1"
else
	rm -f -- "$1"
fi
