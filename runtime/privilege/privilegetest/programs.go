package privilegetest

// sudo reads the arguments as sudo does, and defines what the scripts of the cases are
// made of: say, ask, run, and tty, which wants a terminal.
const sudo = `
( printf '%s\n' "$@"; env ) >> "$log/called"
never= pipe= prompt=
while :; do
  case $1 in
    -n) never=1;; -S) pipe=1;; -H) ;; -p) shift; prompt=$1;;
    -u) shift; [ "$1" = root ] || exit 9;;
    --) shift; break;;
    *) echo "sudo: $1 is unknown" >&2; exit 9;;
  esac
  shift
done
say() { if [ -n "$pipe$never" ]; then printf "$1" >&2; else printf "$1" > /dev/tty; fi; }
ask() {
  [ -z "$never" ] || { echo "sudo: a password is required" >&2; exit 1; }
  say "$prompt"
  answer
}
answer() {
  if [ -n "$pipe" ]; then read -r given || exit 1; else read -r given < /dev/tty || exit 1; fi
  echo "$given" >> "$log/given"
}
tty() { ( : < /dev/tty ) 2>/dev/null || { echo "sudo: sorry, you must have a tty to run sudo" >&2; exit 1; }; }
`

// doas does the same as doas does: it asks on its terminal alone.
const doas = `
( printf '%s\n' "$@"; env ) >> "$log/called"
never=
while :; do
  case $1 in
    -n) never=1;;
    -u) shift; [ "$1" = root ] || exit 9;;
    --) shift; break;;
    *) echo "doas: $1 is unknown" >&2; exit 9;;
  esac
  shift
done
say() { if [ -n "$never" ]; then printf "$1" >&2; else printf "$1" > /dev/tty; fi; }
ask() {
  [ -z "$never" ] || { echo "doas: Authentication required" >&2; exit 1; }
  say "\rdoas (deploy@web1) password: "
  answer
}
answer() {
  read -r given < /dev/tty || exit 1
  echo "$given" >> "$log/given"
}
`

// checked asks, and runs the command where the answer is right.
const checked = `ask; [ "$given" != "` + Password + `" ] || exec "$@"` + "\n"
