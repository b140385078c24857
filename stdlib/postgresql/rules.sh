# rules CLUSTER VERSION FILE: does the server read FILE, its access rules, without a mistake?
# It is asked itself or, where it does not run, an empty one in a directory of its own.
cluster=$1 version=$2 file=$3
mistakes="SELECT 'line ' || line_number || ': ' || error AS mistake FROM pg_hba_file_rules WHERE error IS NOT NULL"
as() { runuser -u postgres -- "$@"; }

if ! found=$(as psql --cluster "$cluster" --no-psqlrc --no-password --no-align --tuples-only --command "$mistakes" 2> /dev/null); then
	trial=$(as mktemp -d) || exit
	trap 'as rm -rf -- "$trial"' EXIT
	trap 'exit 1' HUP INT TERM
	cd "$trial" || exit
	programs=/usr/lib/postgresql/$version/bin
	as "$programs/initdb" --pgdata "$trial" --no-sync --auth peer --locale C > /dev/null || exit
	said=$(echo "$mistakes" | as "$programs/postgres" --single -D "$trial" -c hba_file="$file" postgres) || exit
	found=$(sed -n 's/.*1: mistake = "\(.*\)"[[:space:]]*(typeid.*/\1/p' <<-END
		$said
	END
	)
fi
[ -z "$found" ] && exit 0
cat >&2 <<-END
	$found
END
exit 1
