//go:build lab

package labtest

import (
	"strings"
	"testing"
)

// withPodman makes podman work within a container of systemd-nspawn, which has neither
// overlays nor control groups of its own to give away, and makes an image of busybox
// in two versions.
const withPodman = `set -e
echo 'deb [trusted=yes] file:/opt/parcels ./' > /etc/apt/sources.list.d/podman.list
apt-get update -q > /dev/null
apt-get install -q -y --no-install-recommends podman crun conmon netavark aardvark-dns busybox-static > /dev/null 2>&1
rm /etc/apt/sources.list.d/podman.list
mkdir -p /etc/containers /tmp/image/bin
printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' > /etc/containers/storage.conf
printf '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n[containers]\ncgroups = "disabled"\nlog_driver = "k8s-file"\n' > /etc/containers/containers.conf
cp /bin/busybox /tmp/image/bin
for name in sh sleep httpd cat false env; do ln -s busybox /tmp/image/bin/$name; done
for version in 1 2; do
	echo $version > /tmp/image/version
	tar -C /tmp/image -cf /tmp/image.tar .
	podman import -q /tmp/image.tar localhost/box:$version
done
rm -r /tmp/image /tmp/image.tar
`

// ended stops at once, as a program with a handler of SIGTERM does.
const ended = `"trap 'exit 0' TERM; httpd -p 8081 -h /data; sleep 1000 & wait"`

func TestLifecycleOfContainers(t *testing.T) {
	t.Parallel()
	m := bootAs(t, "containers")
	const command = "command = [\"sh\", \"-c\", " + ended + "]\n"
	all := "image = \"localhost/box:1\"\nnetwork = \"host\"\nvolumes = [\"/srv:/data:ro\"]\n" + command
	lifecycle{
		Type: "container", Label: "web", Prepare: withPodman + "echo hello > /srv/f\n",
		Steps: []step{
			{Set: all, Verify: "for i in $(seq 600); do curl -fsS http://127.0.0.1:8081/f && exit; sleep 0.1; done; exit 1"},
			{Set: all + "environment = { A = \"1\", SECRET = \"s3cret 'x'\" }", Verify: "podman exec web env | grep -qx \"SECRET=s3cret 'x'\" && ! podman inspect --format '{{.Config.CreateCommand}} {{.Config.Labels}}' web | grep s3cret"},
			{Set: all + "environment = { A = \"2\" }", Verify: "podman exec web env | grep -qx A=2 && ! podman exec web env | grep SECRET"},
			{Set: strings.Replace(all, "box:1", "box:2", 1), Verify: "podman exec web cat /version | grep -qx 2"},
			{Set: strings.Replace(all, "/srv:/data:ro", "/srv:/data", 1), Verify: "podman exec web sh -c 'echo x > /data/new' && test -e /srv/new"},
			{Set: strings.Replace(all, "1000", "2000", 1), Verify: "podman inspect --format '{{.Config.Cmd}}' web | grep -q 2000"},
			{Set: all + "devices = [\"/dev/null:/dev/nothing\"]", Verify: "podman exec web sh -c 'echo x > /dev/nothing'"},
			{Set: all + "restart = \"always\"\noptions = [\"--read-only\"]", Verify: "podman inspect --format '{{.HostConfig.RestartPolicy.Name}} {{.HostConfig.ReadonlyRootfs}}' web | grep -qx 'always true'"},
			{Set: strings.Replace(all, "\"host\"", "\"none\"", 1), Verify: "[ \"$(podman inspect --format '{{.HostConfig.NetworkMode}}' web)\" = none ]"},
			{Set: all + "running = false", Verify: "[ \"$(podman inspect --format '{{.State.Running}}' web)\" = false ]"},
		},
		Untried: map[string]string{"ports": "a host of the lab has no network of containers"},
		Gone:    "! podman container exists web && ! podman container exists web.tenet-new",
	}.run(m)
	site := "container \"app\" {\n  image = \"localhost/box:1\"\n  network = \"none\"\n  command = [\"sh\", \"-c\", " + ended + "]\n}\n"
	m.site(site)
	m.apply()
	// What somebody does to it by hand is found, and put right.
	for _, broken := range []string{
		"podman kill app > /dev/null; podman wait app > /dev/null", "podman stop -t 1 app > /dev/null", "podman rm -f -t 1 app > /dev/null",
		"podman rm -f -t 1 app > /dev/null; podman create --name app --network none localhost/box:2 sleep 1 > /dev/null",
		"podman tag localhost/box:2 localhost/box:1",
	} {
		m.shell(broken)
		m.apply()
		m.shell("[ \"$(podman inspect --format '{{.State.Running}} {{.ImageName}}' app)\" = 'true localhost/box:1' ]")
		if changed := m.apply(); len(changed) > 0 {
			m.Errorf("after %q a second apply changes %q", broken, changed)
		}
	}
	m.shell("podman exec app cat /version | grep -qx 2")
	// A mistake leaves what runs as it is.
	m.site(strings.Replace(site, "network", "volumes = [\"/nosuch:/x\"]\nnetwork", 1))
	says(t, m.fails("container.app"), "/nosuch")
	m.shell("[ \"$(podman inspect --format '{{.State.Running}}' app)\" = true ]")
	m.site("container \"bad\" {\n  image = \"localhost/box:1\"\n  network = \"none\"\n  command = [\"sh\", \"-c\", \"echo cannot go on; exit 3\"]\n}\n")
	says(t, m.fails("container.bad"), "ended with status 3", "cannot go on")
	// One whose first start has failed is started by the next apply, too.
	m.site("container \"late\" {\n  image = \"localhost/box:1\"\n  network = \"none\"\n  volumes = [\"/srv:/data\"]\n  command = [\"sh\", \"-c\", \"cat /data/ready && exec sleep 1000\"]\n}\n")
	says(t, m.fails("container.late"), "/data/ready")
	m.shell("touch /srv/ready")
	m.converges("container.late")
	m.shell("[ \"$(podman inspect --format '{{.State.Running}}' late)\" = true ] && podman rm -f -t 1 late > /dev/null")
	m.site("container \"none\" {\n  image = \"localhost/none:1\"\n  pull = \"never\"\n}\n")
	says(t, m.fails("container.none"), "this host has no image localhost/none:1")
}
