package web

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/tenetcm/tenet/internal/ui/rows"
	"github.com/tenetcm/tenet/states"
)

// addNow adds what was begun and has not ended. What takes long was begun many lines ago, so it is looked back piece by piece.
func (v *view) addNow(r *runPage, total int64) error {
	ended := map[string]bool{} // behind the piece that is looked at
	for range nowLooks {
		from := max(0, total-nowLines)
		piece, err := v.lines(r, url.Values{"type": {states.EventBegin, states.EventPart}, "after": {digits(from)}, "limit": {strconv.Itoa(nowLines)}})
		if err != nil {
			return err
		}
		goesOn, over := []runRow{}, map[string]bool{}
		for i := range piece.Items {
			var ev states.Event
			if number := piece.Items[i].Number; number > total || json.Unmarshal(piece.Items[i].Event, &ev) != nil {
				continue
			}
			switch address := rows.Clean(ev.Address); ev.Type {
			case states.EventBegin:
				if row, ok := r.rowOf(piece.Items[i].Number, piece.Items[i].Event); ok && !ended[address] {
					goesOn = append(goesOn, row)
				}
			case states.EventPart:
				over[address] = true
				goesOn = slices.DeleteFunc(goesOn, func(row runRow) bool { return row.Address == address })
			}
		}
		for address := range over {
			ended[address] = true
		}
		r.Now = append(goesOn, r.Now...)
		if total, r.NowAt = from, from; from == 0 {
			break
		}
	}
	return nil
}
