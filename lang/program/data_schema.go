package program

import (
	"cmp"
	"crypto/sha256"
	"strings"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/expr"
)

// schemaField is the field by which a document names its schema.
const schemaField = "$schema"

// schemaFile is a schema by its name from a folder.
type schemaFile struct {
	folder expr.Folder
	name   string
	at     diag.Range // where it is named
}

// ownSchema gives the schema that a document names itself, from the folder of the document; nil: none. An address in the net
// tells the dialect of the document, and is never fetched.
func ownSchema(n *document.Node, folder expr.Folder) (*schemaFile, *diag.Diagnostic) {
	name, ok := n.Value.(string)
	switch {
	case !ok:
		return nil, &diag.Diagnostic{Summary: schemaField + " is the path of a schema, from the folder of the document",
			Hint: "write it as text, or leave it out", Range: n.Range}
	case strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://"):
		return nil, nil
	}
	return &schemaFile{folder, name, n.Range}, nil
}

// open reads the file of the schema itself.
func (s *schemaFile) open() (expr.File, diag.List) {
	file, err := readAsDocument(s.folder, s.name)
	if err != nil {
		d := diag.Diagnose(err, s.at)
		d.Hint = cmp.Or(d.Hint, "name the file of a schema by its path")
		return file, diag.List{d}
	}
	return file, nil
}

// compileSchema makes a schema of its file and of those that this refers to, and says which these are.
func compileSchema(root expr.File) (*document.Schema, map[string]checksum, diag.List) {
	files := map[string]checksum{}
	schema, list := document.ReadSchema(root.Name, func(name string) ([]byte, error) {
		file, err := root.Folder.ReadNamed(name, document.MaxSize)
		if err != nil {
			return nil, err
		}
		files[name] = sha256.Sum256(file.Data)
		return file.Data, nil
	})
	return schema, files, list
}

// check says where a value is not as the schema wants it.
func (s *schemaFile) check(n *document.Node) diag.List {
	root, list := s.open()
	if list.HasErrors() {
		return list
	}
	schema, _, list := compileSchema(root)
	if schema == nil {
		return list
	}
	return append(list, schema.Check(n)...)
}
