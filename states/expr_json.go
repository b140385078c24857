package states

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/tenetcm/tenet/internal/plainjson"
)

// MarshalJSON writes the expression; the same one always as the same bytes.
func (x *Expr) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := x.write(&b)
	return b.Bytes(), err
}

func (x *Expr) write(b *bytes.Buffer) error {
	b.WriteString(`{"` + string(x.Kind) + `":`)
	var err error
	switch x.Kind {
	case ExprLiteral:
		err = writePlain(b, x.Value)
	case ExprRef:
		b.WriteString(plainjson.Quote(x.Ref.Text()) + `,"attribute":` + plainjson.Quote(x.Name))
		if x.Resolved {
			b.WriteString(`,"from":`)
			err = writePlain(b, append([]string{}, x.From...))
		}
	case ExprResult:
		b.WriteString("true")
	case ExprOutput:
		b.WriteString(plainjson.Quote(x.Name) + `,"host":` + plainjson.Quote(x.Host))
	case ExprCall, ExprOperator:
		b.WriteString(plainjson.Quote(x.Name) + `,"args":`)
		err = x.writeArgs(b)
	case ExprGet:
		b.WriteString(plainjson.Quote(x.Name) + `,"of":`)
		err = x.Args[0].write(b)
	case ExprLocal:
		b.WriteString(plainjson.Quote(x.Name))
	case ExprJoin, ExprConvert:
		err = x.Args[0].write(b)
	case ExprItem:
		b.WriteString(strconv.Itoa(x.Item))
	default:
		err = x.writeArgs(b)
	}
	if x.Kind == ExprFor {
		b.WriteString(`,"name":` + plainjson.Quote(x.Name))
	}
	if x.Kind == ExprSplat {
		b.WriteString(`,"item":` + strconv.Itoa(x.Item))
	}
	if x.Type != "" {
		b.WriteString(`,"type":` + x.Type)
	}
	if x.Sensitive {
		b.WriteString(`,"sensitive":true`)
	}
	if x.Flag {
		b.WriteString(map[ExprKind]string{ExprCall: `,"expand":true`, ExprFor: `,"group":true`}[x.Kind])
	}
	b.WriteByte('}')
	return err
}

func (x *Expr) writeArgs(b *bytes.Buffer) error {
	b.WriteByte('[')
	for i, a := range x.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		if a == nil {
			b.WriteString("null")
			continue
		}
		if err := a.write(b); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

func writePlain(b *bytes.Buffer, v any) error {
	text, err := plainjson.Marshal(v)
	b.Write(text)
	return err
}

// UnmarshalJSON reads an expression. What is none, or is beyond the limits, is
// an error.
func (x *Expr) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return err
	}
	read, err := readExpr(plain, 1)
	if err != nil {
		return err
	}
	*x = *read
	return nil
}

func readExpr(plain any, depth int) (*Expr, error) {
	m, ok := plain.(map[string]any)
	if !ok {
		return nil, errors.New("an expression is a JSON object")
	}
	if depth > MaxExprDepth {
		return nil, fmt.Errorf("the expression nests deeper than %d levels", MaxExprDepth)
	}
	r := &exprReader{left: m, depth: depth}
	x, err := r.node()
	if err != nil {
		return nil, err
	}
	for name := range r.left {
		return nil, fmt.Errorf("an expression of kind %q has no %q", x.Kind, name)
	}
	return x.New()
}

// exprReader takes the properties of one node's object; what it leaves over
// does not belong there.
type exprReader struct {
	left  map[string]any
	depth int
	err   error
}

func take[T any](r *exprReader, name string) (v T, given bool) {
	raw, given := r.left[name]
	if !given {
		return v, false
	}
	delete(r.left, name)
	v, ok := raw.(T)
	if !ok && r.err == nil {
		r.err = fmt.Errorf("in an expression, %q is a %T", name, raw)
	}
	return v, ok
}

func (r *exprReader) node() (Expr, error) {
	for _, kind := range exprShapes() {
		raw, ok := r.left[string(kind.name)]
		if !ok {
			continue
		}
		x := Expr{Kind: kind.name}
		kind.read(r, &x, raw)
		delete(r.left, string(kind.name))
		if r.err == nil && len(x.Args) != kind.args && kind.args >= 0 && (kind.name != ExprOperator || len(x.Args) != 1) {
			r.err = fmt.Errorf("an expression of kind %q has %d operands", x.Kind, len(x.Args))
		}
		for i, a := range x.Args {
			if a == nil && r.err == nil && (kind.name != ExprFor || i != 1 && i != 3) {
				r.err = fmt.Errorf("an operand of an expression of kind %q is null", x.Kind)
			}
		}
		return x, r.err
	}
	return Expr{}, errors.New("a JSON object is no expression")
}

// exprShape is how a kind is read.
type exprShape struct {
	name ExprKind
	args int // operands; -1: any number; of operators, also one
	read func(r *exprReader, x *Expr, raw any)
}

func exprShapes() []exprShape {
	list := func(r *exprReader, x *Expr, _ any) { x.Args = r.operands(string(x.Kind)) }
	one := func(r *exprReader, x *Expr, raw any) { x.Args = []*Expr{r.operand(raw)} }
	named := func(r *exprReader, x *Expr, _ any) {
		x.Name, _ = take[string](r, string(x.Kind))
		x.Args = r.operands("args")
		x.Flag, _ = take[bool](r, "expand")
	}
	return []exprShape{
		{ExprLiteral, 0, func(r *exprReader, x *Expr, raw any) {
			x.Value, x.Type = raw, r.typ()
			x.Sensitive, _ = take[bool](r, "sensitive")
		}},
		{ExprRef, 0, readRef},
		{ExprResult, 0, func(r *exprReader, x *Expr, _ any) { take[bool](r, "result") }},
		{ExprOutput, 0, func(r *exprReader, x *Expr, _ any) {
			x.Name, _ = take[string](r, "output")
			x.Host, _ = take[string](r, "host")
			x.Type = r.typ()
			x.Sensitive, _ = take[bool](r, "sensitive")
		}},
		{ExprCall, -1, named},
		{ExprOperator, 2, named},
		{ExprGet, 1, func(r *exprReader, x *Expr, _ any) {
			x.Name, _ = take[string](r, "get")
			x.Args = []*Expr{r.operand(r.left["of"])}
			delete(r.left, "of")
		}},
		{ExprIndex, 2, list},
		{ExprIf, 3, list},
		{ExprFor, 4, func(r *exprReader, x *Expr, raw any) {
			list(r, x, raw)
			x.Name, _ = take[string](r, "name")
			x.Flag, _ = take[bool](r, "group")
		}},
		{ExprLocal, 0, func(r *exprReader, x *Expr, _ any) { x.Name, _ = take[string](r, "local") }},
		{ExprTemplate, -1, list},
		{ExprJoin, 1, one},
		{ExprObject, -1, list},
		{ExprTuple, -1, list},
		{ExprSplat, 2, func(r *exprReader, x *Expr, raw any) { list(r, x, raw); x.Item = r.item() }},
		{ExprItem, 0, func(r *exprReader, x *Expr, _ any) { x.Item = r.item() }},
		{ExprConvert, 1, func(r *exprReader, x *Expr, raw any) { one(r, x, raw); x.Type = r.typ() }},
	}
}

func readRef(r *exprReader, x *Expr, _ any) {
	x.Ref.Address, _ = take[string](r, "ref")
	x.Name, _ = take[string](r, "attribute")
	from, given := take[[]any](r, "from")
	for _, e := range from {
		address, ok := e.(string)
		if !ok && r.err == nil {
			r.err = errors.New("in an expression, an address is no string")
		}
		x.From = append(x.From, address)
	}
	x.Resolved = given
}

func (r *exprReader) operands(name string) []*Expr {
	list, _ := take[[]any](r, name)
	out := make([]*Expr, len(list))
	for i, e := range list {
		if e != nil {
			out[i] = r.operand(e)
		}
	}
	return out
}

func (r *exprReader) operand(raw any) *Expr {
	if r.err != nil {
		return nil
	}
	x, err := readExpr(raw, r.depth+1)
	r.err = err
	return x
}

func (r *exprReader) item() int {
	n, _ := take[json.Number](r, "item")
	i, err := strconv.Atoi(n.String())
	if (err != nil || i < 0 || i > MaxExprDepth) && r.err == nil {
		r.err = errors.New("in an expression, an item has a wrong number")
	}
	return i
}

// typ takes a type, as the bytes that say it.
func (r *exprReader) typ() string {
	raw, given := r.left["type"]
	if !given {
		return ""
	}
	delete(r.left, "type")
	var b bytes.Buffer
	if err := writePlain(&b, raw); err != nil && r.err == nil {
		r.err = err
	}
	return b.String()
}
