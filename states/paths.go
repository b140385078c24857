package states

import "path"

// devices is where the kernel shows its network devices.
const devices = "/sys/class/net/"

// Places lists the directories on the host that a part with these values works in, and
// programs that it needs.
func (s *Schema) Places(values map[string]any) []string {
	var places []string
	for _, a := range s.Attributes {
		switch v, ok := values[a.Name].(string); {
		case ok && a.Within:
			places = append(places, v)
		case ok && a.Below && path.IsAbs(v):
			places = append(places, path.Dir(v))
		}
	}
	return places
}

// Paths lists the paths on the host that a part with these values touches. What
// stands in an attribute of paths and is no path, as the word for a source that has
// none, touches nothing.
func (s *Schema) Paths(values map[string]any) []string {
	var paths []string
	for _, a := range s.Attributes {
		name, _ := values[a.Name].(string)
		switch {
		case a.Device && name != "":
			paths = append(paths, devices+name)
			continue
		case a.OnDevice && name != "":
			paths = append(paths, devices+name+"/"+s.Name)
			continue
		case !a.Path:
			continue
		}
		switch v := values[a.Name].(type) {
		case string:
			if path.IsAbs(v) {
				paths = append(paths, v)
			}
		case []any:
			for _, e := range v {
				if p, ok := e.(string); ok && path.IsAbs(p) {
					paths = append(paths, p)
				}
			}
		}
	}
	return paths
}
