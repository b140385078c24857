# pair CERTIFICATE KEY: are both there, and made for each other?
[ -s "$1" ] && [ -s "$2" ] || exit 1
public=$(openssl x509 -noout -pubkey -in "$1" 2> /dev/null) || exit 1
[ "$public" = "$(openssl pkey -pubout -passin pass: -in "$2" 2> /dev/null)" ]
