# sign DIRECTORY NAME DAYS: sign a certificate with the authority's key. Each file is
# whole or as it was, and NAME.signed, which says what was signed, comes last.
set -e
cd "$1"
umask 022
new=$(mktemp -d ".$2.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp "$2.cnf" "$new/signed"
openssl req -new -sha256 -config "$new/signed" -key "$2.key" -out "$new/request"
openssl x509 -req -sha256 -in "$new/request" -CA ca.pem -CAkey ca.key -set_serial "0x00$(openssl rand -hex 16)" \
	-extfile "$new/signed" -extensions extensions -days "$3" -out "$new/pem" 2>"$new/said" || {
	cat "$new/said" >&2
	exit 1
}
cat "$new/pem" ca.pem >"$new/chain"
mv -f "$new/chain" "$2.chain.pem"
mv -f "$new/pem" "$2.pem"
mv -f "$new/signed" "$2.signed"
