package diag

// HintError is an error with advice on what to do about it, for who knows neither
// the place nor the rest of a Diagnostic.
type HintError struct {
	Message string
	Hint    string
}

// Error gives the message without the hint.
func (e *HintError) Error() string { return e.Message }
