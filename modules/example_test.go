package modules_test

import (
	"fmt"
	"strings"

	"github.com/tenetcm/tenet/modules"
)

func ExampleStandard() {
	file := modules.Standard().Lookup("file")
	summary, _, _ := strings.Cut(file.Doc, "\n")
	fmt.Println(file.Name, file.Keys())
	fmt.Println(summary)
	// Output:
	// file [path]
	// A regular file with the given content, owner, group and mode.
}
