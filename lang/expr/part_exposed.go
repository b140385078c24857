package expr

import (
	"fmt"
	"strconv"

	"github.com/tenetcm/tenet/lang/diag"
	"github.com/tenetcm/tenet/states"
)

// exposedSecrets warns of secrets that a part hands to every account of the host: in the
// arguments of a program, and in files that others may read.
func exposedSecrets(part *states.PartDeclaration, in PartInput) (l diag.List) {
	for _, a := range in.Attributes {
		if schema := in.Module.Attribute(a.Name); schema != nil && schema.Public {
			if _, sensitive := Split(a.Value); sensitive {
				l.Add(publicSecret(a))
			}
		}
		switch a.Name {
		case "argv", "shell":
			if _, sensitive := Split(a.Value); sensitive {
				l.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("%s: a secret stands in the arguments of a program", a.Name), Range: a.Range,
					Detail: "While it runs, every account of the host can read them, as ps does.",
					Hint:   "give it in stdin or env, or in a file that its owner alone may read; nonsensitive(…) says that it may be known"})
			}
		case "mode":
			mode, _ := part.Values["mode"].(string)
			bits, err := strconv.ParseUint(mode, 8, 32)
			if content := in.sensitiveContent(); err == nil && bits&0o004 != 0 && content != "" && !in.Sensitive {
				l.Add(diag.Diagnostic{Severity: diag.Warning, Summary: fmt.Sprintf("mode: with %s every account of the host can read the secret in this file", mode), Range: a.Range,
					Hint: fmt.Sprintf("write mode = %q, or leave mode out, which means the same here; nonsensitive(…) says that it may be known", PrivateMode)})
			}
		}
	}
	return l
}

// publicSecret warns of a secret in an attribute that the host keeps in a file for all.
func publicSecret(a Attribute) diag.Diagnostic {
	return diag.Diagnostic{Severity: diag.Warning, Summary: a.Name + ": a secret stands in a file that every account of the host can read", Range: a.Range,
		Hint: "keep the secret in a file part of its own, which only its owner can read, and name that file here; nonsensitive(…) says that it may be known"}
}
