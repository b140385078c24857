package modules_test

import (
	"fmt"

	"github.com/tenetcm/tenet/modules"
)

func ExampleStandard() {
	for _, a := range modules.Standard().Lookup("symlink").Attributes {
		fmt.Println(a.Name, a.Kind)
	}
	// Output:
	// path string
	// target string
	// owner string
	// group string
	// replace bool
}
