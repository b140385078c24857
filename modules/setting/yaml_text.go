package setting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tenetcm/tenet/modules/internal/lines"
)

// render gives the lines of a key and its value; without a key what comes behind its
// colon.
func (f *yamlFile) render(indent int, name string, v any) ([]string, error) {
	space := strings.Repeat(" ", indent)
	head := ""
	if name != "" {
		key, err := yamlScalar(name)
		if err != nil {
			return nil, err
		}
		head = space + key + ":"
	}
	list, isList := v.([]any)
	m, isMap := v.(map[string]any)
	if len(list) == 0 && len(m) == 0 {
		value := map[bool]string{isList: "[]", isMap: "{}"}[true]
		if !isList && !isMap {
			var err error
			if value, err = yamlScalar(v); err != nil {
				return nil, err
			}
		}
		return []string{head + " " + value}, nil
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(forYAML(v)); err != nil {
		return nil, err
	}
	out := []string{head}
	for _, row := range lines.Parse(b.String()) {
		out = append(out, strings.TrimRight(space+"  "+row.Line, " "))
	}
	return out, nil
}

// forYAML turns plain data into what the library writes with the right types.
func forYAML(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, e := range v {
			out[name] = forYAML(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = forYAML(e)
		}
		return out
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	}
	return v
}

// yamlScalar is a value in one line: bare where that means the same.
func yamlScalar(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "null", nil
	case string:
		var back any
		simple := v != "" && strings.Trim(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" && !strings.ContainsAny(v[:1], "-.")
		if simple && yaml.Unmarshal([]byte(v), &back) == nil && back == any(v) && !slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(v)) {
			return v, nil
		}
		text, err := renderJSON(v, "")
		return strings.ReplaceAll(text, "\x7f", `\x7F`), err
	}
	return fmt.Sprint(v), nil
}
