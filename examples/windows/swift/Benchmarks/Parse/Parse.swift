// SPDX-License-Identifier: Apache-2.0
// Not built by MemHawk's tests: no Swift compiler in Debian 12. See docs/WINDOWS.md.
import Benchmark
import CMemHawk

/// Runs the body inside a thread window; nil without the profiler. The body must not be async: it could
/// go on on another thread.
@discardableResult
func window<T>(_ name: StaticString, _ body: () throws -> T) rethrows -> (T, MemHawkCounts?) {
    let handle = name.withUTF8Buffer { text in
        text.withMemoryRebound(to: CChar.self) { memhawk_swift_begin($0.baseAddress) }
    }
    let value = try body()
    var counts = MemHawkCounts()
    let measured = memhawk_swift_end(handle, &counts)
    return (value, measured ? counts : nil)
}

let benchmarks = {
    Benchmark("Parse", configuration: .init(metrics: [.wallClock, .mallocCountTotal])) { benchmark in
        for _ in benchmark.scaledIterations {
            window("parse") { blackHole("a;b;c".split(separator: ";").map(String.init)) }
        }
    }
}
