package inventory_test

import (
	"fmt"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang/inventory"
)

func ExampleRead() {
	inv, _ := inventory.Read(fstest.MapFS{"hosts.ini": {Data: []byte(`
[web]
web[1:2] ansible_user=deploy
`)}}, "hosts.ini")
	for _, h := range inv.Hosts {
		fmt.Println(h.Name, h.User, h.Groups)
	}
	// Output:
	// web1 deploy [all web]
	// web2 deploy [all web]
}

func ExampleParse() {
	inv, _ := inventory.Parse("cloud", []byte(`{"hosts": {"web1": {"address": "192.0.2.1", "vars": {"color": "blue"}}}}`))
	h := inv.Hosts[0]
	fmt.Println(h.Name, h.Address, h.Levels[0].Items[0].Name)
	// Output: web1 192.0.2.1 color
}
