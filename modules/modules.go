// Package modules lists the modules that come with tenet.
package modules

import (
	"github.com/tenetcm/tenet/modules/aptrepository"
	"github.com/tenetcm/tenet/modules/assert"
	"github.com/tenetcm/tenet/modules/authorizedkeys"
	"github.com/tenetcm/tenet/modules/bridge"
	"github.com/tenetcm/tenet/modules/bridgeport"
	"github.com/tenetcm/tenet/modules/can"
	"github.com/tenetcm/tenet/modules/certificate"
	"github.com/tenetcm/tenet/modules/command"
	"github.com/tenetcm/tenet/modules/cron"
	"github.com/tenetcm/tenet/modules/directory"
	"github.com/tenetcm/tenet/modules/download"
	"github.com/tenetcm/tenet/modules/file"
	"github.com/tenetcm/tenet/modules/git"
	"github.com/tenetcm/tenet/modules/gre"
	"github.com/tenetcm/tenet/modules/group"
	"github.com/tenetcm/tenet/modules/hostname"
	"github.com/tenetcm/tenet/modules/hostsentry"
	"github.com/tenetcm/tenet/modules/http"
	"github.com/tenetcm/tenet/modules/kernelmodule"
	"github.com/tenetcm/tenet/modules/knownhost"
	"github.com/tenetcm/tenet/modules/limits"
	"github.com/tenetcm/tenet/modules/line"
	"github.com/tenetcm/tenet/modules/locale"
	"github.com/tenetcm/tenet/modules/markedblock"
	"github.com/tenetcm/tenet/modules/mount"
	"github.com/tenetcm/tenet/modules/netif"
	"github.com/tenetcm/tenet/modules/packages"
	"github.com/tenetcm/tenet/modules/print"
	"github.com/tenetcm/tenet/modules/reboot"
	"github.com/tenetcm/tenet/modules/reload"
	"github.com/tenetcm/tenet/modules/restart"
	"github.com/tenetcm/tenet/modules/service"
	"github.com/tenetcm/tenet/modules/sudoers"
	"github.com/tenetcm/tenet/modules/swap"
	"github.com/tenetcm/tenet/modules/symlink"
	"github.com/tenetcm/tenet/modules/sysctl"
	"github.com/tenetcm/tenet/modules/systemdtimer"
	"github.com/tenetcm/tenet/modules/systemdunit"
	"github.com/tenetcm/tenet/modules/timezone"
	"github.com/tenetcm/tenet/modules/tree"
	"github.com/tenetcm/tenet/modules/user"
	"github.com/tenetcm/tenet/modules/waitfor"
	"github.com/tenetcm/tenet/states"
)

// Standard gives the registry of all modules that come with tenet. A program
// of its own may use fewer, or add others, with states.NewRegistry.
func Standard() *states.Registry {
	return states.NewRegistry(
		aptrepository.Module,
		assert.Module,
		authorizedkeys.Module,
		bridge.Module,
		bridgeport.Module,
		can.Module,
		certificate.Module,
		command.Module,
		cron.Module,
		directory.Module,
		download.Module,
		file.Module,
		git.Module,
		gre.Module,
		group.Module,
		hostname.Module,
		hostsentry.Module,
		http.Module,
		kernelmodule.Module,
		knownhost.Module,
		limits.Module,
		line.Module,
		locale.Module,
		markedblock.Module,
		mount.Module,
		netif.Module,
		packages.Module,
		print.Module,
		reboot.Module,
		reload.Module,
		restart.Module,
		service.Module,
		sudoers.Module,
		swap.Module,
		symlink.Module,
		sysctl.Module,
		systemdtimer.Module,
		systemdunit.Module,
		timezone.Module,
		tree.Module,
		user.Module,
		waitfor.Module,
	)
}
