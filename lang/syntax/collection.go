package syntax

// WrittenCollection is a collection as a file writes it out, before anything is evaluated: its modules have to be known to
// read the files that use them. What is no literal is left out.
type WrittenCollection struct {
	Name, Source string
	Modules      []string
}
