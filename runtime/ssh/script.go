package ssh

import "strings"

// The scripts run on hosts. Any POSIX sh does, with id, uname, mkdir, head, wc, chmod,
// mv and rm beside it, and gzip where it is there. They pass login shells that are no
// POSIX shell: so there is no single quote, exclamation mark or double backslash in them, and each
// line ends where it could be joined with the next.
//
// What they say to the controller is lines such as <tenet NONCE run>. The nonce comes
// as an argument, so that whoever only repeats the command says none of these.

// startScript starts the runner, or has it brought before. Its arguments are the
// nonce, the cache folder or nothing, the runners that the controller has as
// "Linux_x86_64=DIGEST …", "force" to have it brought anew, and the runner's own: its
// command first.
//
// The runner is the script's child, since what OpenSSH tells of a program that a signal
// ended is the same as of a connection that was cut.
//
// The cache folder must be the account's own: what lies there is run. A cache folder
// on a file system that is mounted noexec has nothing executable for test -x.
const startScript = `
n=$1 c=$2 t=$3 f=$4; shift 4;
say() { echo "<tenet $n $*>"; };
fail() { say fail "$1" "$c"; exit 96; };
go() { v=$1; shift; say run "$v"; "$r" runner "$v" --digest="$d" "$@"; exit $?; };
if [ -z "$c" ]; then
  if [ "$(id -u)" = 0 ]; then c=/var/cache; else c=$XDG_CACHE_HOME; fi;
  case $c in
    /*) ;;
    *) [ -n "$HOME" ] || fail home; c=$HOME/.cache;;
  esac;
  c=$c/tenet;
fi;
u=$(uname -sm) || fail uname;
u=${u% *}_${u#* };
d=;
for x in $t; do
  case $x in "$u"=*) d=${x#*=};; esac;
done;
r=$c/$d/tenet-runner;
if [ -n "$d" ] && [ -z "$f" ] && [ -x "$r" ] && [ -O "$r" ] && [ -O "$c/$d" ] && [ -O "$c" ]; then
  go "$@";
fi;
z=plain;
if command -v gzip >/dev/null 2>&1; then z=gzip; fi;
say new "$u" $z;
read -r d s k || exit 96;
r=$c/$d/tenet-runner;
w=$c/$d/new.$n;
(
  umask 077; LC_ALL=C; export LC_ALL;
  trap "rm -f \"\$w\"" EXIT; trap "exit 96" HUP INT TERM PIPE;
  mkdir -p "$c/$d" || exit 1;
  [ -O "$c" ] && [ -O "$c/$d" ] || exit 3;
  if [ $z = gzip ]; then head -c "$s" | gzip -dc > "$w"; else head -c "$s" > "$w"; fi || exit 1;
  [ "$(wc -c < "$w")" -eq "$k" ] || exit 4;
  chmod 700 "$w" && mv -f "$w" "$r" || exit 1
);
case $? in
  0) ;;
  3) fail owner;;
  4) fail size;;
  *) fail write;;
esac;
[ -x "$r" ] || fail noexec;
go "$@"
`

// becomeScript runs a command as another account. Its arguments are the nonce, the program
// that lets become it, the account, of how many words the call of that program consists,
// and that call with the command behind it: see privilege.Request. Where a password is
// to be given, it is asked for with a line that holds the nonce.
//
// Who asks on a terminal alone is given one by the runner, which the login account has
// for that in its own cache: see privilege.Relay. The call begins with startScript then.
const becomeScript = `
n=$1 p=$2 a=$3 k=$4; shift 4;
l=$(id -un);
if [ "$l" = "$a" ]; then shift "$k"; exec "$@"; fi;
if command -v "$p" >/dev/null 2>&1; then echo "<tenet $n become $l>"; else echo "<tenet $n fail $p>"; exit 96; fi;
LC_ALL=C; export LC_ALL;
exec "$@"
`

// oneLine joins a script's lines.
func oneLine(script string) string {
	return strings.Join(strings.Fields(script), " ")
}
