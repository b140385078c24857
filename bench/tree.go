package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// TreeSite is a site that copies its directory "source".
func TreeSite(dir string) string {
	return fmt.Sprintf("tree %q {\n  source = \"source\"\n}\n", dir)
}

// WriteTree makes a directory with n files of 100 to 2,000 bytes, a hundred in each
// directory below it. They are the same each time.
func WriteTree(dir string, n int) error {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 2000)
	for i := range n {
		for k := range data {
			data[k] = byte(random.Uint32())
		}
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i/2500), fmt.Sprintf("s%04d", i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(sub, Name(i)), data[:100+random.IntN(1900)], 0o644); err != nil {
			return err
		}
	}
	return nil
}
