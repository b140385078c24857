# accepted LINE…: is sshd's configuration right, and is each LINE what sshd itself
# says that it uses?
mkdir -p -m 0755 /run/sshd || exit
sshd -t || exit
used=$(sshd -T) || exit
for line; do
	grep -qixF -- "$line" <<-END && continue
		$used
	END
	word=${line%% *}
	echo "sshd would not use \"$line\": it says" >&2
	grep -i "^$word " >&2 <<-END
		$used
	END
	echo 'Is there an Include of /etc/ssh/sshd_config.d/*.conf at the top of /etc/ssh/sshd_config, and no file before 00-tenet.conf there?' >&2
	exit 1
done
