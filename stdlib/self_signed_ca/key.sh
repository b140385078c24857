# key FILE: make a key that only root can read. The file is whole or not there, and
# one that is there stays, whoever made it meanwhile.
set -e
umask 077
new=$(mktemp "$1.XXXXXX")
trap 'rm -f "$new"' EXIT
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$new" 2>/dev/null
sync "$new"
ln "$new" "$1"
