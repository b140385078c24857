// Package labtest runs tenet on hosts of the lab: what needs systemd, apt,
// root or a full disk to be seen. Its tests have the build tag "lab":
//
//	go test -tags lab ./internal/lab/...
package labtest
