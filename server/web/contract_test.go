package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// contract is what the API takes, as it describes itself.
type contract struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	RequestBody struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Properties map[string]schema
	Required   []string
	Enum       []any
	MinLength  int
}

// check tells what is wrong with what a page sends; empty: nothing.
func (c *contract) check(method, path string, body []byte) string {
	for _, pattern := range slices.Sorted(maps.Keys(c.Paths)) {
		op, known := c.Paths[pattern][strings.ToLower(method)]
		if !known || !regexp.MustCompile(`^`+regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(pattern, `[^/]+`)+`$`).MatchString(path) {
			continue
		}
		s := op.RequestBody.Content["application/json"].Schema
		if s.Ref != "" {
			s = c.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
		}
		var sent map[string]any
		if len(body) > 0 && json.Unmarshal(body, &sent) != nil {
			return "the body is no object"
		}
		return s.check(sent)
	}
	return "there is no such operation"
}

func (s schema) check(sent map[string]any) string {
	for _, name := range s.Required {
		if _, has := sent[name]; !has {
			return name + " is missing"
		}
	}
	for name, value := range sent {
		p, known := s.Properties[name]
		text, isText := value.(string)
		switch {
		case !known:
			return "there is no property " + name
		case len(p.Enum) > 0 && !slices.Contains(p.Enum, value), isText && len(text) < p.MinLength:
			return fmt.Sprintf("%s is not to be %q", name, value)
		}
	}
	return ""
}

// readContract reads the description of the API.
func readContract() (*contract, error) {
	text, err := os.ReadFile("../api/testdata/openapi.json")
	if err != nil {
		return nil, err
	}
	c := &contract{}
	return c, json.Unmarshal(text, c)
}
