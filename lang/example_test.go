package lang_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/tenetcm/tenet/lang"
)

// A site is loaded once, and evaluated for each host.
func ExampleLoad() {
	files := fstest.MapFS{"site.hcl": {Data: []byte(`
variable "name" {
  type = string
}

file "/etc/motd" {
  content = "This is ${var.name}, with ${fact.cpus} CPUs.\n"
}
`)}}
	site, problems := lang.Load(files, lang.Options{Registry: registry()})
	if problems.HasErrors() {
		fmt.Println(problems.Err())
		return
	}
	declared, problems := site.Evaluate(context.Background(), lang.Target{
		Host:  "web1",
		Facts: facts,
		Vars:  []lang.Var{{Name: "name", Value: "web1.example.test"}},
	})
	if problems.HasErrors() {
		fmt.Println(problems.Err())
		return
	}
	for _, d := range declared.List {
		fmt.Print(d.Address, ": ", d.Parts[0].Values["content"])
	}
	// Output: file["/etc/motd"]: This is web1.example.test, with 2 CPUs.
}

// A component tells what it takes and gives, for readers.
func ExampleSite_Describe() {
	files := fstest.MapFS{"main.hcl": {Data: []byte(`# A greeting for all who log in.

variable "text" {
  type        = string
  description = "The text."
}

output "path" {
  value       = "/etc/motd"
  description = "Where it is."
}
`)}}
	site, _ := lang.Load(files, lang.Options{Registry: registry()})
	d, _ := site.Describe(context.Background())
	fmt.Println(d.Text)
	for _, v := range d.Variables {
		fmt.Printf("takes %s (%s, required: %v): %s\n", v.Name, v.TypeText, v.Required, v.Description)
	}
	for _, o := range d.Outputs {
		fmt.Printf("gives %s: %s\n", o.Name, o.Description)
	}
	// Output:
	// A greeting for all who log in.
	// takes text (string, required: true): The text.
	// gives path: Where it is.
}

// Mistakes are collected: those that Load finds, and those that show only when
// the site is evaluated.
func ExampleSite_Evaluate_mistakes() {
	files := fstest.MapFS{"site.hcl": {Data: []byte(`file "/etc/motd" {
  contnt = "x"
  mode   = 0644
}
`)}}
	site, _ := lang.Load(files, lang.Options{Registry: registry()})
	_, problems := site.Evaluate(context.Background(), lang.Target{Host: "web1"})
	fmt.Println(problems.Err())
	// Output:
	// site.hcl:2:3: a file has no attribute "contnt" (did you mean "content"?)
	// site.hcl:3:12: mode: a mode is a string, not the number 644 (write its octal digits as a string, such as mode = "0644")
}

func ExampleFormat() {
	out, _ := lang.Format("site.hcl", []byte("file \"/etc/motd\" {\ncontent=\"x\"\n  mode = \"0644\"\n}\n"))
	fmt.Print(string(out))
	// Output:
	// file "/etc/motd" {
	//   content = "x"
	//   mode    = "0644"
	// }
}

// A variable tells where its value came from.
func ExampleSite_Variables() {
	files := fstest.MapFS{
		"site.hcl": {Data: []byte("variable \"port\" {\n  type    = number\n  default = 80\n}\n")},
		"vars.hcl": {Data: []byte("port = 8080\n")},
	}
	site, _ := lang.Load(files, lang.Options{Registry: registry()})
	values, problems := site.Variables(context.Background(), lang.Target{})
	if problems.HasErrors() {
		fmt.Println(problems.Err())
		return
	}
	for _, v := range values {
		fmt.Printf("%s (%s) = %v, from %s\n", v.Name, v.Type, v.Value, v.From.Range)
		for _, o := range v.Overridden {
			fmt.Printf("  instead of %v, from %s\n", o.Value, o.Range)
		}
	}
	// Output:
	// port (number) = 8080, from vars.hcl:1:8
	//   instead of 80, from site.hcl:3:13
}

func ExampleFunctions() {
	for _, f := range lang.Functions() {
		if f.Name == "cidrhost" {
			fmt.Printf("%s: %s\n", f.Signature, f.Doc)
		}
	}
	// Output: cidrhost(prefix: string, hostnum: number) → string: the address of a number in a network; negative numbers count from its end
}
