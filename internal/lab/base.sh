# Run by root in the new base system, with its network still there. Each argument
# is a list of packages to keep as parcels, which can be installed together.
set -e
export DEBIAN_FRONTEND=noninteractive

# index DIR describes the packages in a directory as apt reads them, signed with
# the lab's key.
index() {
	cd "$1"
	for d in *.deb; do
		dpkg-deb -f "$d"
		printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$d" "$(stat -c %s "$d")" "$(sha256sum < "$d" | cut -d' ' -f1)"
	done > Packages
	printf 'Origin: lab\nLabel: lab\nDate: %s\nSHA256:\n %s %s Packages\n' "$(LC_ALL=C date -Ru | sed 's/+0000/UTC/')" \
		"$(sha256sum < Packages | cut -d' ' -f1)" "$(stat -c %s Packages)" > Release
	gpg -q --batch --yes --clearsign -o InRelease Release
	gpg -q --batch --yes -b -a -o Release.gpg Release
	gpg -q --batch --yes --armor -o key.asc --export lab@example.test
	gpg -q --batch --yes -o key.gpg --export lab@example.test
	cd - > /dev/null
}

# make NAME VERSION [FIELD…] makes a package of what is in /tmp/p, with a file of
# its own that says its version.
make() {
	name=$1 version=$2
	shift 2
	mkdir -p /tmp/p/DEBIAN /tmp/p/usr/share/lab
	{
		printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: Lab <lab@example.test>\n' "$name" "$version"
		for field; do echo "$field"; done
		printf 'Description: package %s of the lab\n' "$name"
	} > /tmp/p/DEBIAN/control
	echo "$version" > "/tmp/p/usr/share/lab/$name"
	dpkg-deb --root-owner-group -b /tmp/p "$LAB/${name}_$version.deb" > /dev/null
	rm -r /tmp/p
}

# script NAME puts standard input into the next package as a script of its maintainer.
script() {
	mkdir -p /tmp/p/DEBIAN
	{ printf '#!/bin/sh\nset -e\n'; cat; } > "/tmp/p/DEBIAN/$1"
	chmod 0755 "/tmp/p/DEBIAN/$1"
}

# What hosts may install, beside what they have. A package of the base is among it
# for tests that remove it first.
apt-get clean
apt-get update -q
mkdir "$PARCELS" "$LAB"
for together; do
	# shellcheck disable=SC2086
	apt-get install -q -y --no-install-recommends --reinstall --download-only --allow-remove-essential $together
	mv /var/cache/apt/archives/*.deb "$PARCELS"
done

apt-get install -q -y --no-install-recommends gpg gpg-agent
export GNUPGHOME=/tmp/gnupg
mkdir -m 0700 "$GNUPGHOME"
gpg -q --batch --passphrase '' --quick-gen-key 'Lab <lab@example.test>' rsa2048 sign never

# Two versions, with a configuration file.
for version in 1.0 2.0; do
	mkdir -p /tmp/p/DEBIAN /tmp/p/etc
	echo "setting = ${version%.0}" > /tmp/p/etc/lab-one.conf
	echo /etc/lab-one.conf > /tmp/p/DEBIAN/conffiles
	make lab-one $version
	make lab-two $version 'Provides: lab-virtual'
	make lab-lib $version
	# A service, which is enabled and started as Debian's are, and needs another package.
	mkdir -p /tmp/p/lib/systemd/system
	printf '[Unit]\nDescription=Lab three %s\n\n[Service]\nExecStart=/bin/sleep infinity\nExecReload=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n' \
		$version > /tmp/p/lib/systemd/system/lab-three.service
	script postinst <<-'END'
		if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
			systemctl daemon-reload
			[ -n "$2" ] || systemctl enable -q lab-three.service
			deb-systemd-invoke restart lab-three.service
		fi
	END
	script prerm <<-'END'
		if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
			deb-systemd-invoke stop lab-three.service
			systemctl disable -q lab-three.service
		fi
	END
	make lab-three $version "Depends: lab-lib (= $version)"
done
# Its installation fails until /etc/lab-broken is there.
script postinst <<-'END'
	if ! [ -e /etc/lab-broken ]; then
		echo "lab-broken: there is no /etc/lab-broken" >&2
		exit 3
	fi
END
make lab-broken 1.0
# Its installation lasts as long as there is /run/lab-slow.
script postinst <<-'END'
	while [ -e /run/lab-slow ]; do sleep 0.1; done
END
make lab-slow 1.0
make lab-rival 1.0 'Conflicts: lab-two'
make lab-needy 1.0 'Depends: lab-not-there'

index "$PARCELS"
index "$LAB"
cp "$LAB/key.gpg" /usr/share/keyrings/lab.gpg
gpgconf --kill all
rm -r "$GNUPGHOME"
apt-get purge -q -y --auto-remove gpg gpg-agent

: > /etc/apt/sources.list
echo "deb [signed-by=/usr/share/keyrings/lab.gpg] file:$LAB ./" > /etc/apt/sources.list.d/lab.list
rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb /var/log/apt/* /var/log/dpkg.log
apt-get update -q

systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
rm -f /etc/hostname
printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' > /etc/hosts
rm -f /etc/resolv.conf
echo "nameserver $NAMESERVER" > /etc/resolv.conf
: > /etc/machine-id # each host gets its own
