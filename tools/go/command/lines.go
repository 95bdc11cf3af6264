package main

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// logFunc shows one line next to a resource.
type logFunc func(ctx context.Context, urn resource.URN, line string)

// longLine is the length in bytes, without the newline, from which a line cannot be shown: the size of the official
// plugin's buffer, Go's bufio.MaxScanTokenSize.
const longLine = 64 << 10

// lineWriter shows each line as soon as it is complete; two streams may write to it.
type lineWriter struct {
	show    func(string)
	tooLong func()
	mutex   sync.Mutex
	pending []byte
	failed  bool
}

// unless is the writer of a stream, or nowhere if logging is one of those that hide the stream.
func (w *lineWriter) unless(logging string, hiding ...string) io.Writer {
	if slices.Contains(hiding, logging) {
		return io.Discard
	}
	return w
}

// Write fails from the first long line on, which closes the command's pipe.
func (w *lineWriter) Write(data []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.failed {
		return 0, errLongLine
	}
	w.pending = append(w.pending, data...)
	for {
		end := bytes.IndexByte(w.pending, '\n')
		switch {
		case end >= longLine, end < 0 && len(w.pending) >= longLine:
			w.failed, w.pending = true, nil
			w.tooLong()
			return 0, errLongLine
		case end < 0:
			return len(data), nil
		}
		w.showLine(w.pending[:end])
		w.pending = w.pending[end+1:]
	}
}

// flush shows a last line that has no newline.
func (w *lineWriter) flush() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.pending) > 0 {
		w.showLine(w.pending)
		w.pending = nil
	}
}

func (w *lineWriter) showLine(line []byte) {
	w.show(strings.TrimSuffix(string(line), "\r"))
}

// transcript is what two streams wrote, in the order it came.
type transcript struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (t *transcript) Write(data []byte) (int, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.buffer.Write(data)
}

func (t *transcript) String() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.buffer.String()
}
