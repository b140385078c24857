package update

import "github.com/tenetcm/tenet/server/store"

// Restored ends all updates in a store that was restored from a backup: hosts may have been brought to another release since, of which it knows nothing.
// They stay with what they run until somebody begins an update.
func Restored(tx store.Tx) error {
	var numbers []int64
	if err := tx.Query(`SELECT number FROM update_updates WHERE phase <> $1 AND phase <> $2 ORDER BY number`, []any{string(Failed), string(Aborted)}, func(row store.Row) error {
		var number int64
		err := row.Scan(&number)
		numbers = append(numbers, number)
		return err
	}); err != nil {
		return err
	}
	for _, number := range numbers {
		u, err := load(tx, number)
		if err != nil {
			return err
		}
		before := u.snapshot()
		u.end(Aborted, "the server was restored from a backup")
		if err := u.save(tx, before); err != nil {
			return err
		}
	}
	return nil
}
