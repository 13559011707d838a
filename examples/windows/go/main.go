// SPDX-License-Identifier: Apache-2.0

// Windows around C code that Go calls through cgo. Go's own heap does not come from malloc and is not
// seen (use Go's profiler for it); what C libraries allocate for it is.
//
//	cd examples/windows/go && go build -o bench . && memhawk run -- ./bench
package main

/*
#cgo CFLAGS: -I${SRCDIR}/../../../include -O2 -g
#include <memhawk.h>
#include <string.h>

static __attribute__((noinline)) char *render(int n)
{
	char *text = malloc(n + 1);
	memset(text, 'x', n);
	text[n] = 0;
	return text;
}

static int render_many(int times)
{
	int sum = 0;
	for (int i = 1; i <= times; i++) {
		char *text = render(i * 10);
		sum += (int)strlen(text);
		free(text);
	}
	return sum;
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// window runs body inside a window. A thread window must end on the thread that began it, and Go moves
// goroutines between threads, so the goroutine is locked to its thread meanwhile.
func window(name string, body func()) (counts C.struct_memhawk_counts, measured bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	handle := C.memhawk_window_begin(text, C.MEMHAWK_THREAD)
	body()
	C.memhawk_window_end(handle)
	measured = C.memhawk_window_stats(&counts) == 0
	return counts, measured
}

func main() {
	for i := 0; i < 10; i++ {
		counts, measured := window("render", func() { C.render_many(5) })
		if i == 9 && measured {
			fmt.Printf("render %d allocations, %d bytes, peak %d\n", uint64(counts.allocations),
				uint64(counts.bytes), uint64(counts.peak_bytes))
		} else if i == 9 {
			fmt.Println("render not measured")
		}
	}
	// Go leaves by a system call of its own, past the end of the C library; so write what there is.
	C.memhawk_snapshot()
}
