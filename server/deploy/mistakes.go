package deploy

import (
	"fmt"
	"strings"
)

// mistakes are what is wrong with a site, each with the hosts for which it is.
type mistakes struct {
	order []string
	hosts map[string][]string
}

// add notes a mistake.
func (m *mistakes) add(host, mistake string) {
	if m.hosts == nil {
		m.hosts = map[string][]string{}
	}
	if m.hosts[mistake] == nil {
		m.order = append(m.order, mistake)
	}
	m.hosts[mistake] = append(m.hosts[mistake], host)
}

// String tells of each mistake once.
func (m *mistakes) String() string {
	texts := make([]string, len(m.order))
	for i, mistake := range m.order {
		names := m.hosts[mistake]
		if len(names) > 3 {
			names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
		}
		texts[i] = strings.Join(names, ", ") + ": " + mistake
	}
	return some(texts)
}
