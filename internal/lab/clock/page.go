package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// codes gives what stands in place of each function that tells the time: the system
// call that it spares its callers, and so many seconds added to the answer.
func codes(seconds int32) map[string][]byte {
	n := string(binary.LittleEndian.AppendUint32(nil, uint32(seconds)))
	return map[string][]byte{
		"__vdso_clock_gettime": []byte("\xb8\xe4\x00\x00\x00\x0f\x05" + // eax = 228; syscall
			"\x85\xc0\x75\x0b" + // it failed: return
			"\x85\xff\x75\x07" + // of another clock than the wall's: return
			"\x48\x81\x06" + n + "\xc3"), // add to tv_sec; return
		"__vdso_gettimeofday": []byte("\xb8\x60\x00\x00\x00\x0f\x05" + // eax = 96; syscall
			"\x48\x85\xff\x74\x07" + // nothing asked for: return
			"\x48\x81\x07" + n + "\xc3"),
		"__vdso_time": []byte("\xb8\xc9\x00\x00\x00\x0f\x05" + // eax = 201; syscall
			"\x48\x05" + n + // add to it
			"\x48\x85\xff\x74\x03\x48\x89\x07\xc3"), // and store it where that is wanted
	}
}

// deceive writes these into the page of a program that is stopped.
func deceive(pid int, seconds int32) error {
	at, err := page(pid)
	if err != nil {
		return err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	image := make([]byte, 1<<13)
	if n, err := memory.ReadAt(image, at); n < 1<<12 {
		return fmt.Errorf("read the page of time: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	all := codes(seconds)
	for _, s := range symbols {
		code := all[s.Name]
		if uint64(len(code)) > s.Size {
			return fmt.Errorf("%s is too short to be replaced", s.Name)
		}
		if _, err := memory.WriteAt(code, at+int64(s.Value)); err != nil {
			return err
		}
	}
	return nil
}

// page finds it in what the kernel tells a program as it starts.
func page(pid int) (int64, error) {
	const sysinfoEHDR = 33
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(data) >= 16; data = data[16:] {
		if binary.LittleEndian.Uint64(data) == sysinfoEHDR {
			return int64(binary.LittleEndian.Uint64(data[8:])), nil
		}
	}
	return 0, errors.New("the program has no page of time")
}
