package plainjson_test

import (
	"os"

	"github.com/tenetcm/tenet/internal/plainjson"
)

func ExampleWriteIndented() {
	if err := plainjson.WriteIndented(os.Stdout, map[string]any{"a": []string{"<&>"}}); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(plainjson.Quote("<\"\u2028") + "\n")
	// Output:
	// {
	//   "a": [
	//     "<&>"
	//   ]
	// }
	// "<\"\u2028"
}
