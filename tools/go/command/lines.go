package main

import (
	"bytes"
	"context"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// logFunc shows one line next to a resource.
type logFunc func(ctx context.Context, urn resource.URN, line string)

const (
	maxLine = 64 << 10 // bytes; a longer line is shown in pieces, so that nothing waits for its end
	maxTail = 8 << 10  // bytes of output repeated in an error
)

// lineWriter shows each line as soon as it is complete.
type lineWriter struct {
	show    func(string)
	enabled bool
	pending []byte
}

func (w *lineWriter) Write(data []byte) (int, error) {
	if !w.enabled {
		return len(data), nil
	}
	w.pending = append(w.pending, data...)
	for {
		end := bytes.IndexByte(w.pending, '\n')
		switch {
		case end >= 0 && end <= maxLine:
			w.show(strings.TrimSuffix(string(w.pending[:end]), "\r"))
			w.pending = w.pending[end+1:]
		case len(w.pending) > maxLine:
			w.show(string(w.pending[:maxLine]))
			w.pending = w.pending[maxLine:]
		default:
			return len(data), nil
		}
	}
}

// flush shows a last line that has no newline.
func (w *lineWriter) flush() {
	if len(w.pending) > 0 {
		w.show(string(w.pending))
		w.pending = nil
	}
}

// tail keeps the end of what two streams wrote, in the order it came.
type tail struct {
	mutex sync.Mutex
	kept  []byte
	cut   bool
}

func (t *tail) Write(data []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.kept = append(t.kept, data...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept, t.cut = t.kept[over:], true
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	kept := strings.ToValidUTF8(string(t.kept), "")
	if t.cut {
		return "…" + kept
	}
	return kept
}
