# compose running|up|down ENGINE PROJECT DIRECTORY …: looks at the containers of a project, starts them, takes them away.
what=$1 engine=$2 project=$3 dir=$4
shift 4
label=label=com.docker.compose.project=$project

# Containers of services; those of which somebody has made one for a single command are no part of it. podman-compose has no word for these.
# They say how they are in one way with all engines: the state of a container is another word with each podman.
states() {
  case $engine in
    *podman) "$engine" ps --all --filter "$label" --format '{{.Status}}' ;;
    *) "$engine" ps --all --filter "$label" --filter label=com.docker.compose.oneoff=False --format '{{.Status}}' ;;
  esac
}

# runs STATES PATTERN: each container runs, and is healthy where it says so; a task that has ended well is done. What matches the pattern does not run yet.
runs() {
  [ -n "$1" ] || return 1
  printf '%s\n' "$1" | while read -r status; do
    case $status in
      *unhealthy* | *starting* | *Paused*) exit 1 ;;
      "Up "*) printf '%s\n' "$status" | grep -qE "$2" && exit 1 || : ;;
      "Exited (0)"*) ;;
      *) exit 1 ;;
    esac
  done
}

# mark MARKER STATES: what it is started with: the package and the program, for which a marker stands, and the parameters; and how many containers that makes.
mark() { printf '%s %s %s\n' "$1" "$(sha256sum < "$dir/environment")" "$(printf '%s\n' "$2" | grep -c .)"; }

# ask ACTION PROGRAM…: with the parameters as variables of its environment, which count more than all files do.
ask() {
  action="$1 $2"
  shift
  set -- "$@" --project-name "$project" --file "$dir/app/compose.yaml"
  case $action in
    up*) set -- "$@" up --detach --remove-orphans ;;
    "down "*podman-compose) set -- "$@" down ;;
    down*) set -- "$@" down --remove-orphans ;;
    services*) set -- "$@" config --services ;;
  esac
  (
    [ ! -e "$dir/environment" ] || . "$dir/environment"
    exec "$@"
  )
}

# clear takes away what has the project's label: containers have their time to end.
clear() {
  containers=$("$engine" ps --filter "$label" --quiet) || return 1
  [ -z "$containers" ] || "$engine" stop $containers > /dev/null || return 1
  containers=$("$engine" ps --all --filter "$label" --quiet) || return 1
  [ -z "$containers" ] || "$engine" rm --force $containers > /dev/null || return 1
  case $engine in *podman)
    for pod in "$project" "pod_$project"; do
      ! "$engine" pod exists "$pod" || "$engine" pod rm --force "$pod" > /dev/null || return 1
    done
    ;;
  esac
}

# start PROGRAM…: podman-compose leaves containers as they are whatever has changed, and ends well whatever has failed. So what is there goes first, and
# in the end each service has to have a container; where it cannot name services yet, it says how each of its commands has ended.
start() {
  case $1 in
    *podman-compose) clear || return 1 ;;
    *) ask up "$@"; return ;;
  esac
  said=$(ask up "$@" 2>&1)
  if [ $? != 0 ] || printf '%s\n' "$said" | grep -q '^exit code: [^0]'; then
    printf '%s\n' "$said" >&2
    return 1
  fi
  for service in $(ask services "$@" 2> /dev/null); do
    if [ -z "$("$engine" ps --all --filter "$label" --filter "label=com.docker.compose.service=$service" --quiet)" ]; then
      echo "the service $service has no container" >&2
      return 1
    fi
  done
}

case $what in
  running) # MARKER: it runs, and is what was started last
    [ -e "$dir/applied" ] && all=$(states) && [ "$(cat "$dir/applied")" = "$(mark "$1" "$all")" ] && runs "$all" '^$'
    ;;
  up) # MARKER WAIT SECONDS PROGRAM…
    marker=$1 wait=$2 end=$(($(date +%s) + $3))
    shift 3
    rm -f "$dir/applied" && cd "$dir/app" && start "$@" || exit 1
    # What falls over and is started again and again runs in between, but not for three seconds.
    while :; do
      all=$(states) || exit 1
      [ "$wait" = true ] && ! runs "$all" '^Up (Less|[12] sec)' || break
      if [ "$(date +%s)" -ge "$end" ]; then
        printf 'its containers do not all run in time:\n%s\n' "$all" >&2
        exit 1
      fi
      sleep 1
    done
    umask 077
    mark "$marker" "$all" > "$dir/applied"
    ;;
  down) # PROGRAM…
    cd "$dir/app" || exit 1
    ask down "$@" || echo "what is left of it goes by its label" >&2
    clear || exit 1
    for network in $("$engine" network ls --filter "$label" --quiet); do
      "$engine" network rm "$network" > /dev/null || exit 1
    done
    rm -f "$dir/applied" "$dir/environment" "$dir/app/compose.yaml"
    ;;
esac
