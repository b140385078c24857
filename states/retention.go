package states

import (
	"encoding/json"
	"errors"
	"strconv"
)

// Retention says what stays on a machine of what a part has stood for, once that is
// declared no longer. Above zero it is how many: the last that were wanted. In JSON it is
// true, or the number.
type Retention int

// RetainAll keeps whatever was declared with it.
const RetainAll Retention = -1

// Count is how many stay; 0: it is not about a number.
func (r Retention) Count() int { return max(int(r), 0) }

// String is the value as a site writes it.
func (r Retention) String() string {
	if r == RetainAll {
		return "true"
	}
	return strconv.Itoa(int(r))
}

// MarshalJSON writes true or the number; null: nothing is retained.
func (r Retention) MarshalJSON() ([]byte, error) {
	if r == 0 {
		return []byte("null"), nil
	}
	return []byte(r.String()), nil
}

// UnmarshalJSON reads what MarshalJSON has written.
func (r *Retention) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case "true":
		*r = RetainAll
		return nil
	case "null":
		*r = 0
		return nil
	}
	var n int
	if err := json.Unmarshal(data, &n); err != nil || n < 1 {
		return errors.New("retain is true or a whole number of at least 1")
	}
	*r = Retention(n)
	return nil
}
