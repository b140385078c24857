package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenetcm/tenet/internal/plainjson"
)

// sealer gives values away to who can neither read nor change them. Its key ends with the process.
type sealer struct {
	aead cipher.AEAD
	mu   sync.Mutex
	used map[string]time.Time // what is good once, until when
}

func newSealer() *sealer {
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("access: " + err.Error())
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic("access: " + err.Error())
	}
	return &sealer{aead: aead, used: map[string]time.Time{}}
}

// seal gives a value as text, which opens for the same purpose only.
func (s *sealer) seal(purpose string, v any) (string, error) {
	text, err := plainjson.Marshal(v)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose))), nil
}

func (s *sealer) open(purpose, text string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) < s.aead.Overhead() {
		return errors.New("it was not sealed here")
	}
	plain, err := s.aead.Open(nil, nil, raw, []byte(purpose))
	if err != nil {
		return err
	}
	return json.Unmarshal(plain, into)
}

// first tells whether something is used for the first time. Only what was sealed here gets here.
func (s *sealer) first(id string, ends, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, end := range s.used {
		if now.After(end) {
			delete(s.used, other)
		}
	}
	if _, ok := s.used[id]; ok {
		return false
	}
	s.used[id] = ends
	return true
}
