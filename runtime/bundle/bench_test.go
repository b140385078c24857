package bundle_test

import (
	"fmt"
	"testing"
	"testing/fstest"
)

// BenchmarkWarm is a bundle of which the machine has everything.
func BenchmarkWarm(b *testing.B) {
	for name, make := range map[string]func() (fstest.MapFS, []string, []string){
		"20 parts": func() (fstest.MapFS, []string, []string) {
			files, names := fstest.MapFS{}, []string(nil)
			for i := range 20 {
				name := fmt.Sprintf("f%d", i)
				files[name] = &fstest.MapFile{Data: []byte(name), Mode: 0o644}
				names = append(names, name)
			}
			return files, names, nil
		},
		"50000 files": func() (fstest.MapFS, []string, []string) {
			files := fstest.MapFS{}
			for i := range 50_000 {
				files[fmt.Sprintf("t/%d/%d", i%100, i)] = &fstest.MapFile{Data: []byte(fmt.Sprint(i)), Mode: 0o644}
			}
			return files, nil, []string{"t"}
		},
	} {
		b.Run(name, func(b *testing.B) {
			files, names, trees := make()
			made := example(b, files, names, trees, nil)
			store, _ := newStore(b)
			if _, _, err := send(b, made, store, nil); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := send(b, made, store, store.Have(made.Site())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
