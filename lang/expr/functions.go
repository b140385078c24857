package expr

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/tenetcm/tenet/lang/diag"
)

// RefFunction is the name under which the syntax trees of front-ends call the
// resolution of computed references; no source can write it.
const RefFunction = "(reference)"

// Function is a function of the language with its documentation.
type Function struct {
	Name  string
	Group string // strings, collections, numbers, encoding, hashes, network, dates, types or files
	Doc   string // one line
	Impl  function.Function
}

// FunctionDoc describes a function for readers.
type FunctionDoc struct {
	Name      string  `json:"name"`
	Group     string  `json:"group"`
	Signature string  `json:"signature"` // upper(str: string) → string
	Doc       string  `json:"doc"`
	Example   Example `json:"example"`
}

// Functions lists the functions for files in a directory of the site, sorted by
// name. None of them depends on the clock, on chance or on the environment.
func (f *Files) Functions(dir string) []Function {
	all := slices.Concat(stringFunctions(), collectionFunctions(), numberFunctions(), typeFunctions(),
		encodingFunctions(), hashFunctions(), networkFunctions(), dateFunctions(), f.fileFunctions(dir, nil))
	for name, size := range sizes() {
		i := slices.IndexFunc(all, func(fn Function) bool { return fn.Name == name })
		all[i].Impl = limitResult(all[i].Impl, size)
	}
	slices.SortFunc(all, func(a, b Function) int { return compareStrings(a.Name, b.Name) })
	return all
}

// FunctionMap gives the functions by name, as evaluation needs them.
func (f *Files) FunctionMap(dir string) map[string]function.Function { return f.functions(dir, nil) }

func (f *Files) functions(dir string, chain []string) map[string]function.Function {
	if f.pureFunctions == nil {
		f.pureFunctions = map[string]function.Function{}
		for _, fn := range f.Functions(dir) {
			f.pureFunctions[fn.Name] = f.recordedFunction(fn)
		}
	}
	table := maps.Clone(f.pureFunctions)
	for _, fn := range f.fileFunctions(dir, chain) {
		table[fn.Name] = f.recordedFunction(fn)
	}
	table[TemplateFunction] = f.templateFinder(dir, chain)
	table[HostFunction] = hostAttributeFunction(f.lookIntoHost)
	return table
}

// UseHosts lets expressions name attributes of hosts, which look gives.
func (f *Files) UseHosts(look func(HostAttribute) (cty.Value, error)) { f.lookIntoHost = look }

// recordedFunction gives the function as evaluation calls it. Those that take whole
// expressions give out only what these have.
func (f *Files) recordedFunction(fn Function) function.Function {
	if fn.Name == "try" || fn.Name == "can" {
		return fn.Impl
	}
	return f.vault.recordResults(fn.Impl, fn.Name == "secret" || fn.Name == "sensitive")
}

// FunctionDocs describes all functions, sorted by name.
func FunctionDocs() []FunctionDoc {
	examples := functionExamples()
	docs := []FunctionDoc{{Name: "hosts", Group: "site", Signature: "hosts(pattern: string, options: object…) → list(object)", Example: examples["hosts"],
		Doc: "the hosts that the site declares and a pattern names, such as \"web*\" or \"@group\": name, address and labels of each, in exports the values of exported variables, in facts what it tells of itself, and in outputs what it gives, which only an apply may know; with { outputs = \"last\" }, as it was recorded, and with { facts = \"now\" }, not as it was told before"}}
	for _, fn := range NewFiles(nil).Functions(".") {
		docs = append(docs, FunctionDoc{
			Name: fn.Name, Group: fn.Group, Doc: fn.Doc, Signature: signature(fn.Name, fn.Impl), Example: examples[fn.Name]})
	}
	slices.SortFunc(docs, func(a, b FunctionDoc) int { return compareStrings(a.Name, b.Name) })
	return docs
}

// signature writes what a function takes and gives.
func signature(name string, fn function.Function) string {
	text, types := name+"(", []cty.Type{}
	for i, p := range fn.Params() {
		if i > 0 {
			text += ", "
		}
		if p.Name == fileParameter().Name && p.Type == cty.DynamicPseudoType {
			text += p.Name + ": string or source"
			types = append(types, cty.String)
			continue
		}
		text += p.Name + ": " + typeName(p.Type)
		types = append(types, p.Type)
	}
	if v := fn.VarParam(); v != nil {
		if len(types) > 0 {
			text += ", "
		}
		text += v.Name + "…: " + typeName(v.Type)
	}
	text += ")"
	if result, err := fn.ReturnType(types); err == nil && result != cty.DynamicPseudoType && !result.Equals(cty.EmptyObject) {
		text += " → " + typeName(result)
	}
	return text
}

func typeName(t cty.Type) string {
	if t == cty.DynamicPseudoType || t.IsCapsuleType() && !t.Equals(SourceType) {
		return "any"
	}
	return TypeName(t)
}

// RefResolver makes the function that computed references call: its arguments
// are the steps, strings for names and one-element tuples for keys. It gives the
// reference, or the result that they name.
func RefResolver(resolve func([]Step) (Resolution, error)) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "steps", Type: cty.DynamicPseudoType, AllowMarked: true},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			var steps []Step
			for _, a := range args {
				if a.Type() == cty.String && !a.IsMarked() {
					steps = append(steps, Step{Key: a.AsString()})
					continue
				}
				key := a.Index(cty.NumberIntVal(0))
				if IsDeferred(key) {
					return cty.DynamicVal, &diag.HintError{Message: "a result cannot be the key of a reference",
						Hint: "what is referred to must be known before anything runs; use a value that is, such as each.key"}
				}
				if !key.IsKnown() {
					return cty.DynamicVal, nil
				}
				step, err := StepValue(key)
				if err != nil {
					return cty.DynamicVal, err
				}
				steps = append(steps, step)
			}
			found, err := resolve(steps)
			switch {
			case err != nil:
				return cty.DynamicVal, err
			case found.Result == "":
				return RefValue(found.Ref), nil
			}
			return found.Value(diag.Range{})
		},
	})
}
