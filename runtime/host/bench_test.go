package host_test

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/tenetcm/tenet/runtime/host"
)

// prepare writes files of 1 KiB.
func prepare(b *testing.B, h host.Host, dir string, count int) []string {
	b.Helper()
	text := host.Text(string(make([]byte, 1024)))
	paths := make([]string, count)
	for i := range paths {
		paths[i] = filepath.Join(dir, fmt.Sprint("file", i))
		if err := h.WriteFile(b.Context(), paths[i], text, host.Meta{}); err != nil {
			b.Fatal(err)
		}
	}
	return paths
}

// BenchmarkRead looks at a file and reads it, as a converged run does.
func BenchmarkRead(b *testing.B) {
	l, dir := local(b, ""), b.TempDir()
	shadow := host.NewShadow(l)
	if err := shadow.Mkdir(dir+"/new", host.Meta{}); err != nil {
		b.Fatal(err)
	}
	paths := prepare(b, l, dir, 1000)
	for name, h := range map[string]host.Reader{"Local": l, "Shadow": host.NewShadow(l), "ChangedShadow": shadow} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				path := paths[i%len(paths)]
				info, err := h.Lstat(path)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := host.ReadContent(b.Context(), h, path, info); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWriteFile creates and replaces files.
func BenchmarkWriteFile(b *testing.B) {
	l, dir := local(b, ""), b.TempDir()
	text := host.Text(string(make([]byte, 1024)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := l.WriteFile(b.Context(), fmt.Sprintf("%s/%d", dir, i%1000), text, host.Meta{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRun starts a program that does nothing.
func BenchmarkRun(b *testing.B) {
	l := local(b, "")
	for b.Loop() {
		if _, err := l.Run(b.Context(), host.Command{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen compares with what the system calls alone cost.
func BenchmarkOpen(b *testing.B) {
	l, dir := local(b, ""), b.TempDir()
	path := prepare(b, l, dir, 1)[0]
	buf := make([]byte, 2048)
	for b.Loop() {
		f, err := l.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(f, buf[:1024]); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}
