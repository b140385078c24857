package rows

// link links the rows that hang on another part with the row of that part.
func (b *builder) link() {
	causes := map[string]*Row{}
	b.eachRow(func(r *Row) {
		if causes[r.Address] == nil {
			causes[r.Address] = r
		}
	})
	b.eachRow(func(r *Row) {
		if cause := causes[r.Cause.Text]; cause != nil && r.Doubt != "" {
			r.Cause.Anchor = cause.Anchor
			cause.Hanging = append(cause.Hanging, Link{Anchor: r.Anchor, Text: r.Address})
		}
	})
}

// eachRow goes through the rows of what would be done.
func (b *builder) eachRow(do func(*Row)) {
	for i := range b.Groups {
		for k := range b.Groups[i].Rows {
			do(&b.Groups[i].Rows[k])
		}
	}
}
