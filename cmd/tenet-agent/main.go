// Tenet-agent is the agent alone, for hosts that need nothing else of tenet: it joins a server, and keeps the host as that says.
package main

import (
	"os"
	_ "time/tzdata" // hosts need not have time zones of their own

	"github.com/tenetcm/tenet/internal/agentcmd"
)

func main() { os.Exit(agentcmd.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
