# authority DIRECTORY DAYS: sign the authority's certificate with its own key. Each
# file is whole or as it was, and ca.signed, which says what was signed, comes last.
set -e
cd "$1"
umask 022
new=$(mktemp -d .ca.XXXXXX)
trap 'rm -rf "$new"' EXIT
cp ca.cnf "$new/signed"
openssl req -x509 -new -sha256 -config "$new/signed" -key ca.key -days "$2" -out "$new/pem"
mv -f "$new/pem" ca.pem
mv -f "$new/signed" ca.signed
