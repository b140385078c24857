package diag

// HintError is an error with advice on what to do about it. All errors that carry
// advice are one, or have one among their causes, which HintOf and CodeOf find.
type HintError struct {
	Code    string // a word for programs, such as "not_found"; empty: none
	Message string // one line without the hint; empty: that of Err
	Hint    string // what to do about it; empty: nothing is known
	Err     error  // the cause; nil: none
}

// Error gives the message without the hint.
func (e *HintError) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *HintError) Unwrap() error { return e.Err }

// HintOf gives the advice of an error: the first that it or one of its causes has.
// Diagnostics have none here, since their text holds it.
func HintOf(err error) string {
	return find(err, func(e *HintError) string { return e.Hint })
}

// CodeOf gives an error's word for programs: the first that it or one of its causes has.
func CodeOf(err error) string {
	return find(err, func(e *HintError) string { return e.Code })
}

func find(err error, field func(*HintError) string) string {
	if e, ok := err.(*HintError); ok {
		if found := field(e); found != "" {
			return found
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return find(e.Unwrap(), field)
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			if found := find(cause, field); found != "" {
				return found
			}
		}
	}
	return ""
}

// Diagnose makes a diagnostic of an error, with its hint.
func Diagnose(err error, at Range) Diagnostic {
	return Diagnostic{Severity: Error, Summary: err.Error(), Hint: HintOf(err), Range: at}
}
