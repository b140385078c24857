package states

import "strings"

// Accounts lists accounts of the host, each as "user NAME" or "group NAME": those that a
// part with these values sets up, or removes, and those that have to be there for it. A
// number names no account, since a part may use one without it.
func (s *Schema) Accounts(values map[string]any) (own, needed []string) {
	for _, a := range s.Attributes {
		for _, name := range names(values[a.Name]) {
			switch {
			case a.User:
				own = append(own, "user "+name)
			case a.Group:
				own = append(own, "group "+name)
			case a.OfUser:
				needed = append(needed, "user "+name)
			case a.OfGroup:
				needed = append(needed, "group "+name)
			}
		}
	}
	return own, needed
}

// names gives the names in a value, which is one or a list, without numbers.
func names(value any) []string {
	list, _ := value.([]any)
	if list == nil {
		list = []any{value}
	}
	var names []string
	for _, v := range list {
		if name, _ := v.(string); strings.Trim(name, "0123456789") != "" {
			names = append(names, name)
		}
	}
	return names
}
