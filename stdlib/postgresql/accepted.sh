# accepted VERSION CONFIGURATION [OTHER]: would the server start with its settings as they
# are now? They are read, and the memory that they ask for is asked for, in a directory of
# its own. OTHER is a file that is written next: what is wrong with that one does not count.
version=$1 configuration=$2 other=$3
program=/usr/lib/postgresql/$version/bin/postgres

# All is done by who the server runs as, whose folders these are: root would follow what that
# one may put into them meanwhile.
owner() { runuser -u postgres -- "$@" < /dev/null; }

trial=$(owner mktemp -d) || exit
cleanup() {
	owner rm -rf -- "$trial"
	[ -z "$other" ] || [ ! -e "$other.~check~" ] || owner mv -fT -- "$other.~check~" "$other"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

run() { owner "$program" "$@"; }

# empty makes of the directory what the program takes for a server's.
empty() {
	# shellcheck disable=SC2016 # the inner shell is to expand it
	owner sh -c '
		cd -- "$1" || exit
		echo "$2" > PG_VERSION
		mkdir -p global base pg_commit_ts pg_dynshmem pg_logical/snapshots pg_logical/mappings \
			pg_multixact/members pg_multixact/offsets pg_notify pg_replslot pg_serial pg_snapshots pg_stat \
			pg_stat_tmp pg_subtrans pg_tblspc pg_twophase pg_wal/archive_status pg_xact || exit
		rm -f postmaster.pid
		cp -- "$3/postgresql.auto.conf" . 2> /dev/null || :
	' sh "$trial" "$version" "$1"
}

# The kernel counts memory by what it promises only where it is told to (2): there the
# running server's own would be counted beside.
takes() {
	data=$(run -D "$configuration" -C data_directory) || return
	[ "$(cat /proc/sys/vm/overcommit_memory)" != 2 ] || return 0
	case $version in
	9.* | 1[0-4]) set -- --boot -x0 ;;
	*) set -- --check ;;
	esac
	empty "$data" && run "$@" -D "$configuration" -c data_directory="$trial" -c huge_pages=off > /dev/null
}

if [ -z "$other" ] || [ ! -e "$other" ]; then
	takes
	exit
fi
takes 2> /dev/null && exit
owner mv -fT -- "$other" "$other.~check~" || exit
takes
