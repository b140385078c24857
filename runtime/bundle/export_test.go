package bundle

// SetSync makes a store call a function instead of syncfs.
func SetSync(s *Store, sync func(fd int) error) { s.sync = sync }
