package modules_test

import (
	"fmt"

	"github.com/tenetcm/tenet/modules"
)

func ExampleStandard() {
	for _, name := range modules.Standard().Names() {
		fmt.Println(name)
	}
	// Output:
	// command
	// directory
	// file
	// group
	// line
	// marked_block
	// package
	// print
	// reboot
	// reload
	// restart
	// service
	// symlink
	// user
}
