package ssh_test

import (
	"context"
	"fmt"
	"os"

	"github.com/tenetcm/tenet/runtime/ssh"
	"github.com/tenetcm/tenet/runtime/wire"
)

// A runner is started on a host, and says what machine it is on.
func ExampleClient_Dial() {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &ssh.Client{Runners: &ssh.Runners{Self: self}}
	host := ssh.Host{Name: "web1", Address: "-oProxyCommand=reboot"}
	conn, hello, err := client.Dial(context.Background(), host, wire.Opening{Facts: []string{"os"}})
	if err != nil {
		fmt.Println(host.Name+":", err)
		return
	}
	defer conn.Close()
	fmt.Println(hello.OS, hello.Arch)
	// Output:
	// web1: the address "-oProxyCommand=reboot" begins with a dash
}

// What passes a shell is quoted, whatever it is.
func ExampleQuote() {
	fmt.Println("ls", ssh.Quote("it's $5!"), ssh.Quote("/tmp/plain"))
	// Output:
	// ls 'it'\''s $5'\! /tmp/plain
}
