package states

import "strings"

// Renamed gives the address, without wave, that something has now which had this
// one. The longest former address that it begins with counts; what that became may
// have been renamed in its turn.
func Renamed(address string, moved []Moved) string {
	used := make([]bool, len(moved))
	for {
		best := -1
		for i, m := range moved {
			if !used[i] && Within(address, m.From) && (best < 0 || len(m.From) > len(moved[best].From)) {
				best = i
			}
		}
		if best < 0 {
			return address
		}
		used[best] = true // once each: moves in a circle end, too
		address = moved[best].To + address[len(moved[best].From):]
	}
}

// Within reports whether an address is that of a declaration, or of something in
// it: one of its parts or instances, or what a component declares.
func Within(address, declaration string) bool {
	rest, ok := strings.CutPrefix(address, declaration)
	return ok && declaration != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
