package program

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/lang/document"
	"github.com/tenetcm/tenet/lang/expr"
)

// maxDocuments is how many documents are kept for the next host: they may be one for all hosts, or one for each.
const maxDocuments = 16

// documentCache keeps the documents that were read last: hosts that have the same one need not read it again. What is kept
// counts as long as the files are the same, byte by byte. Several evaluations may use it at once.
type documentCache struct {
	mu    sync.Mutex
	known map[string]*dataDocument // by name
}

type checksum = [sha256.Size]byte

// dataDocument is a document as it was read, whose field $schema belongs to it and not to its data.
type dataDocument struct {
	sum    checksum
	node   *document.Node // the data, with all places; nil: it could not be read
	value  cty.Value      // unknown: it could not be read
	schema *document.Node // of the field $schema; nil: there is none
	list   diag.List      // what is wrong with it
	checks map[string]schemaCheck
}

// schemaCheck is what a schema says of a document.
type schemaCheck struct {
	files map[string]checksum // that the schema was made of, by name
	list  diag.List
}

// read reads a document, and checks it by a schema, or by that which it names itself. The list is what is wrong.
func (c *documentCache) read(file expr.File, schema *schemaFile) (*dataDocument, diag.List) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := sha256.Sum256(file.Data)
	doc := c.known[file.Name]
	if doc == nil || doc.sum != sum {
		doc = readDocument(file)
		doc.sum = sum
		if c.known == nil || len(c.known) >= maxDocuments {
			c.known = map[string]*dataDocument{}
		}
		c.known[file.Name] = doc
	}
	list := slices.Clone(doc.list)
	if schema == nil && doc.schema != nil {
		var wrong *diag.Diagnostic
		if schema, wrong = ownSchema(doc.schema, file.Folder); wrong != nil {
			list.Add(*wrong)
		}
	}
	if schema == nil || doc.node == nil {
		return doc, list
	}
	return doc, append(list, doc.check(schema)...)
}

// readAsDocument reads the file of a document, whose name tells the format.
func readAsDocument(folder expr.Folder, name string) (expr.File, error) {
	if !slices.Contains(document.Formats(), path.Ext(name)) {
		return expr.File{}, &diag.HintError{Message: fmt.Sprintf("%q is no document: its name ends in %s", name, strings.Join(document.Formats(), ", ")),
			Hint: "give it the ending of its format, and name it by that"}
	}
	return folder.Read(name, document.MaxSize)
}

// readDocument makes the data of a document.
func readDocument(file expr.File) *dataDocument {
	doc := &dataDocument{value: cty.DynamicVal, checks: map[string]schemaCheck{}}
	if doc.node, doc.list = document.Read(file.Name, file.Data); doc.node == nil {
		return doc
	}
	if i := slices.IndexFunc(doc.node.Fields, func(f document.Field) bool { return f.Name == schemaField }); i >= 0 {
		doc.schema = doc.node.Fields[i].Value
		doc.node.Fields = slices.Delete(doc.node.Fields, i, i+1)
	}
	r := valueReader{}
	doc.value = r.value(doc.node)
	doc.list = append(doc.list, r.list...)
	return doc
}

// check gives what a schema says of the document, and keeps it.
func (d *dataDocument) check(s *schemaFile) diag.List {
	root, list := s.open()
	if list.HasErrors() {
		return list
	}
	if known, ok := d.checks[root.Name]; ok && isMadeOf(known.files, root.Folder) {
		return known.list
	}
	schema, files, list := compileSchema(root)
	if schema == nil {
		return list
	}
	list = append(list, schema.Check(d.node)...)
	d.checks[root.Name] = schemaCheck{files, list}
	return list
}

// isMadeOf reports whether files are as they were.
func isMadeOf(files map[string]checksum, folder expr.Folder) bool {
	for name, sum := range files {
		file, err := folder.ReadNamed(name, document.MaxSize)
		if err != nil || sha256.Sum256(file.Data) != sum {
			return false
		}
	}
	return true
}
