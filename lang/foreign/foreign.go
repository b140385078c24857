// Package foreign knows what people write who come from Terraform, Ansible,
// Salt or Puppet, and from YAML or Python, and what tenet has in its place. It
// is data: tables of words, and patterns of lines that are no state file. The
// packages that find a mistake ask it for better advice than they have.
//
// The package depends on nothing else of the project.
package foreign

import (
	"fmt"
	"slices"
)

// The tools whose words are known.
const (
	terraform = "Terraform"
	ansible   = "Ansible"
	salt      = "Salt"
	puppet    = "Puppet"
	python    = "Python"
	yaml      = "YAML"
	jinja     = "Jinja"
)

// Advice is what to say about a mistake. An empty field is left as it was.
type Advice struct {
	Summary string // what is wrong, one line
	Detail  string // the cause
	Hint    string // the cure: what to write
	Whole   bool   // the whole line is wrong, not only what stands at the place
	Repair  string // written at the place, it lets the parser go on; empty: nothing does
	Last    bool   // what the parser says about later lines only follows from it
}

// Word is a word of another tool.
type Word struct {
	Name  string
	Of    string // the tool
	On    string // the type of part for which it counts; empty: any
	Value string // for an attribute: the value for which it counts; empty: any
	Write string // the cure
}

// find gives the advice of the first word of a table that fits; what says what
// the words of the table are: "a function".
func find(what string, table []Word, fits func(Word) bool) (Advice, bool) {
	i := slices.IndexFunc(table, fits)
	if i < 0 {
		return Advice{}, false
	}
	a := Advice{Hint: table[i].Write}
	if of := table[i].Of; of != "" {
		a.Detail = fmt.Sprintf("%s is %s of %s.", table[i].Name, what, of)
	}
	return a, true
}

// Block gives advice on a type of block that tenet does not have. inside is the
// type of the block in which it stands; empty at the top level.
func Block(name, inside string) (Advice, bool) {
	if inside != "" {
		if a, ok := find("a word", Blocks(), func(w Word) bool { return w.Name == name && w.On == "part" }); ok {
			return a, true
		}
	}
	return find("a word", Blocks(), func(w Word) bool { return w.Name == name })
}

// Attribute gives advice on an attribute that a part of the type on does not
// have; on is "state", "variable" and so on where it stands in a declaration.
// value is what it is given, where that is plain text or a single word.
func Attribute(on, name, value string) (Advice, bool) {
	return find("a word", Attributes(), func(w Word) bool {
		return w.Name == name && (w.On == "" || w.On == on) && (w.Value == "" || w.Value == value)
	})
}

// Value gives advice on an expression that begins with a name that stands for
// nothing, such as locals.x: the name, and the one after it if there is one.
func Value(root, next string) (Advice, bool) {
	return find("a name", Values(), func(w Word) bool { return w.Name == root+"."+next || w.Name == root })
}

// Function gives advice on a function that tenet does not have.
func Function(name string) (Advice, bool) {
	return find("a function", Functions(), func(w Word) bool { return w.Name == name })
}

// Type gives advice on the name of a type of values.
func Type(name string) (Advice, bool) {
	return find("a type", Types(), func(w Word) bool { return w.Name == name })
}

// Ensure gives advice on a value of ensure.
func Ensure(value string) (Advice, bool) {
	return find("a word", Attributes(), func(w Word) bool { return w.Name == "ensure" && w.Value == value })
}
