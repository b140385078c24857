# accepted LINE…: is sshd's configuration right, and is each LINE what sshd itself
# says that it uses?
mkdir -p -m 0755 /run/sshd || exit
sshd -t || exit
used=$(sshd -T) || exit
for line; do
	printf '%s\n' "$used" | grep -qixF -- "$line" && continue
	echo "sshd would not use \"$line\", but \"$(printf '%s\n' "$used" | grep -i -m1 "^${line%% *} ")\"." >&2
	echo 'Is there an Include of /etc/ssh/sshd_config.d/*.conf at the top of /etc/ssh/sshd_config, and no file before 00-tenet.conf there?' >&2
	exit 1
done
