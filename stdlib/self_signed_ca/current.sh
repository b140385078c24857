# current DIRECTORY NAME SECONDS: is the certificate as it was asked for, of this
# authority and this key, and valid for that long? The authority itself is ca.
cd "$1" || exit
cmp -s "$2.cnf" "$2.signed" &&
	openssl x509 -checkend "$3" -noout -in "$2.pem" >/dev/null 2>&1 &&
	openssl verify -CAfile ca.pem "$2.pem" >/dev/null 2>&1 &&
	[ "$(openssl x509 -pubkey -noout -in "$2.pem")" = "$(openssl pkey -pubout -in "$2.key")" ] || exit 1
[ "$2" = ca ] || cat "$2.pem" ca.pem | cmp -s - "$2.chain.pem"
