package redact

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// tokens are as those of GitHub, and the like of them.
func tokens(count int) []string {
	r, all := rand.New(rand.NewPCG(1, 2)), []string(nil)
	for range count {
		all = append(all, fmt.Sprintf("ghp_%016x%016x/+", r.Uint64(), r.Uint64()))
	}
	return all
}

// ordinary is what tools write: words, numbers, URLs, hex, base64.
func ordinary(length int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for b.Len() < length {
		fmt.Fprintf(&b, "2026-03-01T12:00:%02dZ INFO served GET https://api.github.com/repos/a/b?page=%d in %d ms ", r.IntN(60), r.IntN(999), r.IntN(9999))
		fmt.Fprintf(&b, "{\"sha\": \"%016x%016x\", \"content\": \"%s\"}\n", r.Uint64(), r.Uint64(), strings.Repeat("QmFzZTY0", r.IntN(9)))
	}
	return b.Bytes()[:length]
}

func write(b *testing.B, set *Set, pieces ...[]byte) {
	b.Helper()
	stream, total := set.Stream(), 0
	for _, piece := range pieces {
		total += len(piece)
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		for _, piece := range pieces {
			stream.Write(piece, ignore)
		}
	}
}

func BenchmarkOrdinary(b *testing.B) {
	text := ordinary(1 << 16)
	for _, count := range []int{0, 1, 32, 1000} {
		b.Run(fmt.Sprintf("values=%d", count), func(b *testing.B) { write(b, knowing(tokens(count)...), text) })
	}
	b.Run("values=32,lines", func(b *testing.B) { write(b, knowing(tokens(32)...), bytes.SplitAfter(text, []byte("\n"))...) })
}

func BenchmarkAttack(b *testing.B) {
	for name, a := range attacks(1 << 12) {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			var written [][]byte
			for _, piece := range pieces(a.text, always(a.mostBytes)) {
				written = append(written, []byte(piece))
			}
			write(b, knowing(a.values...), written...)
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	b.Run("known", func(b *testing.B) {
		set, values := knowing(tokens(32)...), tokens(32)
		for b.Loop() {
			set.Add(values...)
		}
	})
	for _, length := range []int{40, 1000, 64 << 10} {
		b.Run(fmt.Sprintf("new,bytes=%d", length), func(b *testing.B) {
			value := strings.Repeat("/aB3", length/4)
			for b.Loop() {
				NewSet().Add(value)
			}
		})
	}
}
