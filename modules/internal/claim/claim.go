// Package claim holds what modules claim beside their resources in the same words, so
// that parts which contradict one another are found.
package claim

import "github.com/tenetcm/tenet/states"

// text gives an attribute's value; "": it is none, or known only later.
func text(values map[string]any, attribute string) string {
	s, _ := values[attribute].(string)
	return s
}

// Kind claims that what stands at the part's path is of a kind, such as "a directory".
func Kind(kind string) func(map[string]any, bool) []states.Claim {
	return func(values map[string]any, absent bool) []states.Claim {
		at := text(values, "path")
		if absent || at == "" {
			return nil
		}
		return []states.Claim{{Relation: "kind", Of: at, Is: kind, OnlyOf: true, Says: "that " + at + " is " + kind}}
	}
}

// content is the relation of a file and its content.
const content = "content"

// File claims that a regular file stands at the part's path and, where content or one of
// the attributes from is given, that its whole content is that.
func File(from ...string) func(map[string]any, bool) []states.Claim {
	return func(values map[string]any, absent bool) []states.Claim {
		claims := Kind("a file")(values, absent)
		if len(claims) == 0 {
			return nil
		}
		whole := states.Claim{Relation: content, Of: text(values, "path"), OnlyOf: true, Says: "what is in " + text(values, "path") + ", and that there is nothing else in it"}
		if is, ok := values["content"].(string); ok {
			whole.Is = is
			return append(claims, whole)
		}
		for _, attribute := range from {
			if values[attribute] != nil {
				return append(claims, whole)
			}
		}
		return claims
	}
}

// Piece claims that something is in a file, as it is told by says. It is known to be so
// where a text that another part gives holds is; with an empty one nobody can tell.
func Piece(file, is, says string) []states.Claim {
	if file == "" {
		return nil
	}
	if is == "" {
		is = "\x00" // in no text
	}
	return []states.Claim{{Relation: content, Of: file, Is: is, Within: true, Says: says + " is in " + file}}
}

// Members claims of accounts that they are in groups, as pairs of both. Where only is
// given, as "user" or "group", that one is in these pairs and in no others.
func Members(pairs [][2]string, only, name, says string) []states.Claim {
	const relation = "is in the group"
	claims := make([]states.Claim, 0, len(pairs)+1)
	for _, p := range pairs {
		claims = append(claims, states.Claim{Relation: relation, Of: p[0], Is: p[1], Says: says})
	}
	switch only {
	case "user":
		claims = append(claims, states.Claim{Relation: relation, Of: name, OnlyOf: true, Says: says})
	case "group":
		claims = append(claims, states.Claim{Relation: relation, Is: name, OnlyIs: true, Says: says})
	}
	return claims
}
