package cli

import "strings"

// serverUnitText is the unit that runs a server: as an account of its own, which may write to its folder and nowhere else. It is not started before somebody
// has started the server once, and has read the recovery key: that would be in the journal otherwise.
func serverUnitText(user string, command []string, writable string, isPrivileged bool) string {
	dir, _, _ := strings.Cut(writable[1:], `"`)
	capabilities := "CapabilityBoundingSet=\n"
	if isPrivileged {
		capabilities = "CapabilityBoundingSet=CAP_NET_BIND_SERVICE\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n"
	}
	return `[Unit]
Description=tenet server
Documentation=https://github.com/tenetcm/tenet
Wants=network-online.target
After=network-online.target postgresql.service
AssertPathExists=` + dir + `/keys
# One whose database was away, or that is no longer the active one, ends: it is started again, as often as it takes.
StartLimitIntervalSec=0

[Service]
User=` + user + `
ExecStart=` + strings.Join(command, " ") + `
Restart=always
RestartSec=5
KillMode=mixed
TimeoutStopSec=30
UMask=0077
# A connection for each agent, and some for what they fetch.
LimitNOFILE=131072
ReadWritePaths=` + writable + `
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
` + capabilities + `NoNewPrivileges=yes
LockPersonality=yes
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target`
}
