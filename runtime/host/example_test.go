package host_test

import (
	"context"
	"fmt"
	"io"

	"github.com/tenetcm/tenet/runtime/host"
)

// A shadow shows what writes would do, and leaves its base alone.
func ExampleNewShadow() {
	machine := host.NewMemory()
	if err := machine.Add("/etc/motd", "old\n"); err != nil {
		panic(err)
	}
	shadow := host.NewShadow(machine)
	err := shadow.WriteFile(context.Background(), "/etc/motd", host.Text("new\n"), host.Meta{})
	if err != nil {
		panic(err)
	}
	for _, h := range []host.Host{machine, shadow} {
		f, err := h.Open("/etc/motd")
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(f)
		f.Close()
		fmt.Print(string(text))
	}
	_, err = shadow.Run(context.Background(), host.Command{Argv: []string{"reboot"}})
	fmt.Println(err)
	// Output:
	// old
	// new
	// cannot be foreseen without doing it
}

// A host in memory has the programs that a test gives it.
func ExampleMemory_Handle() {
	machine := host.NewMemory()
	machine.Handle("uptime", func(_ context.Context, c host.Command) (host.Result, error) {
		return host.Result{Stdout: []byte("up 3 days\n")}, nil
	})
	r, err := machine.Run(context.Background(), host.Command{Argv: []string{"uptime"}})
	fmt.Printf("%s%v\n", r.Stdout, err)
	// Output:
	// up 3 days
	// <nil>
}

// The machine that the program runs on.
func ExampleNewLocal() {
	machine, err := host.NewLocal(host.LocalOptions{})
	if err != nil {
		panic(err)
	}
	info, err := machine.Lstat("/")
	fmt.Println(info.Kind, err)
	// Output: directory <nil>
}
