package states_test

import (
	"context"
	"fmt"

	"github.com/tenetcm/tenet/runtime/host"
	"github.com/tenetcm/tenet/states"
)

// Greeting is the state of a greeting: a module is a struct, its documentation,
// and at most three functions.
type Greeting struct {
	Name string  `state:"name,key" doc:"Who is greeted."`
	Text *string `state:"text" doc:"What is said."`
}

func ExampleDefine() {
	greeting := states.Define(states.Type[Greeting]{
		Name: "greeting", Doc: "Somebody is greeted.",
		New:  Greeting{Text: new("hello")},
		Read: func(context.Context, host.Host, Greeting) (*Greeting, error) { return nil, nil },
		Write: func(_ context.Context, _ host.Host, _ *Greeting, want Greeting) error {
			fmt.Println(*want.Text, want.Name)
			return nil
		},
		NoAbsent: "A greeting cannot be taken back.",
	})

	want, err := greeting.Decode(map[string]any{"name": "world"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	filled := greeting.Fill(nil, want)
	for _, change := range greeting.Diff(nil, filled) {
		fmt.Println(change.Attribute, "→", change.To)
	}
	if err := greeting.Write(context.Background(), nil, nil, filled); err != nil {
		fmt.Println(err)
	}
	// Output:
	// text → hello
	// hello world
}
