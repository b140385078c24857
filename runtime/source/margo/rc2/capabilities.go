package rc2

import (
	"encoding/json"
	"fmt"

	"github.com/tenetcm/tenet/internal/plainjson"
	"github.com/tenetcm/tenet/lang/document"
)

// Capabilities are what a device says of itself. They are a document of who owns the device, of which tenet makes use for rules.
type Capabilities struct {
	Device string // its id
	node   *document.Node
}

// ReadCapabilities reads the capabilities of a device, from a file in JSON, YAML or TOML.
func ReadCapabilities(name string, data []byte) (*Capabilities, error) {
	node, err := read("capabilities", name, data, MaxDeployment)
	if err != nil {
		return nil, err
	}
	return &Capabilities{Device: text(below(node, "properties"), "id"), node: node}, nil
}

// NewCapabilities checks plain data.
func NewCapabilities(plain any) (*Capabilities, error) {
	data, err := json.Marshal(plain)
	if err != nil {
		return nil, fmt.Errorf("capabilities: %w", err)
	}
	return ReadCapabilities("capabilities.json", data)
}

// Encode gives them as they are sent: the same ones always in the same bytes.
func (c *Capabilities) Encode() ([]byte, error) { return plainjson.Marshal(c.node.Plain()) }
