# compose running|up|down ENGINE PROJECT DIRECTORY …: looks at the containers of a project, starts them, takes them away.
umask 077
what=$1 engine=$2 project=$3 dir=$4
shift 4

states() { "$engine" ps --all --filter "label=com.docker.compose.project=$project" --format '{{.State}} {{.Status}}'; }

# Each container runs, and is healthy where it says so; a task that has ended well is done.
runs() {
  all=$(states) && [ -n "$all" ] || return 1
  printf '%s\n' "$all" | while read -r state status; do
    case "$state $status" in
      "running "*unhealthy* | "running "*starting*) exit 1 ;;
      "running "* | "exited Exited (0)"*) ;;
      *) exit 1 ;;
    esac
  done
}

# What it is started with: the package and the program, for which a marker stands, and the parameters.
mark() { printf '%s %s\n' "$1" "$(sha256sum < "$dir/environment")"; }

case $what in
  running) # MARKER: it runs, and is what was started last
    [ "$(cat "$dir/applied" 2> /dev/null)" = "$(mark "$1" 2> /dev/null)" ] && runs
    ;;
  up) # MARKER WAIT SECONDS PROGRAM…
    marker=$1 wait=$2 end=$(($(date +%s) + $3))
    shift 3
    rm -f "$dir/applied" && cd "$dir/app" || exit 1
    "$@" --project-name "$project" --file "$dir/app/compose.yaml" --env-file "$dir/environment" up --detach --remove-orphans || exit 1
    while [ "$wait" = true ] && ! runs; do
      if [ "$(date +%s)" -ge "$end" ]; then
        echo "its containers do not all run in time:" >&2
        states >&2
        exit 1
      fi
      sleep 1
    done
    mark "$marker" > "$dir/applied"
    ;;
  down) # PROGRAM…
    cd "$dir/app" || exit 1
    "$@" --project-name "$project" --file "$dir/app/compose.yaml" --env-file "$dir/environment" down --remove-orphans || exit 1
    rm -f "$dir/applied" "$dir/environment" "$dir/app/compose.yaml"
    ;;
esac
