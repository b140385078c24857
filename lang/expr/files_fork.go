package expr

import "sync"

// filesRead is what was read of a site: the Files of one evaluation share it, so that all of
// them see one version of each file.
type filesRead struct {
	texts   firstOf[string]
	data    firstOf[[]byte] // of documents
	sources firstOf[map[string]any]
	trees   firstOf[map[string]any]
}

func newFilesRead() *filesRead { return &filesRead{} }

// firstOf keeps the first value for each path.
type firstOf[T any] struct {
	mu     sync.Mutex
	values map[string]T
}

func (f *firstOf[T]) get(at string) (value T, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	value, ok = f.values[at]
	return value, ok
}

// keep gives the value that is kept: this one, unless another goroutine was faster.
func (f *firstOf[T]) keep(at string, value T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first, ok := f.values[at]; ok {
		return first
	}
	if f.values == nil {
		f.values = map[string]T{}
	}
	f.values[at] = value
	return value
}

// Fork makes Files for another goroutine of the same evaluation, which see the same version of
// each file.
func (f *Files) Fork() *Files {
	fork := NewFilesOf(f.site, f.name)
	fork.read, fork.vault = f.read, f.vault
	return fork
}
