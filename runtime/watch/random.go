package watch

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Random gives numbers from [0, 1) that depend on a seed alone. With one of its own, as its machine-id is, each host of many goes its own
// way, and the same way each time.
func Random(seed string) func() float64 {
	sum := sha256.Sum256([]byte(seed))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16]))).Float64
}
