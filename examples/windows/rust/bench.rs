// SPDX-License-Identifier: Apache-2.0
//! Measurement windows from Rust, in a loop as Criterion has it, without any crate: the functions of
//! libmemhawk.so are looked up by name, so the program runs with and without the profiler.
//!
//!     rustc -O -g examples/windows/rust/bench.rs -o bench
//!     memhawk run -- ./bench
//!     memhawk report memhawk_bench_*.binpb --window join
//!
//! With Criterion itself, call `memhawk::window` inside the closure of `Bencher::iter`.

mod memhawk {
    use std::ffi::CStr;
    use std::os::raw::{c_char, c_int, c_void};
    use std::sync::Once;

    extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// As `struct memhawk_counts` in memhawk.h.
    #[repr(C)]
    #[derive(Default, Clone, Copy)]
    pub struct Counts {
        pub allocations: u64,
        pub bytes: u64,
        pub frees: u64,
        pub freed_bytes: u64,
        pub temporary: u64,
        pub peak_bytes: u64,
        pub duration_ns: u64,
        pub reserved: u64,
    }

    #[derive(Clone, Copy)]
    struct Api {
        begin: unsafe extern "C" fn(*const c_char, c_int) -> u64,
        end: unsafe extern "C" fn(u64) -> c_int,
        stats: unsafe extern "C" fn(*mut Counts) -> c_int,
    }

    fn api() -> Option<Api> {
        static ONCE: Once = Once::new();
        static mut API: Option<Api> = None;
        unsafe {
            ONCE.call_once(|| {
                let find = |name: &[u8]| dlsym(std::ptr::null_mut(), name.as_ptr() as *const c_char);
                let begin = find(b"memhawk_v1_window_begin\0");
                let end = find(b"memhawk_v1_window_end\0");
                let stats = find(b"memhawk_v1_window_stats\0");
                if !begin.is_null() && !end.is_null() && !stats.is_null() {
                    API = Some(Api {
                        begin: std::mem::transmute(begin),
                        end: std::mem::transmute(end),
                        stats: std::mem::transmute(stats),
                    });
                }
            });
            API
        }
    }

    /// Runs `body` inside a thread window; the counts, or None without the profiler.
    pub fn window<T>(name: &CStr, body: impl FnOnce() -> T) -> (T, Option<Counts>) {
        let api = match api() {
            Some(api) => api,
            None => return (body(), None),
        };
        let mut counts = Counts::default();
        unsafe {
            let window = (api.begin)(name.as_ptr(), 0);
            let value = body();
            (api.end)(window);
            let measured = (api.stats)(&mut counts) == 0;
            (value, if measured { Some(counts) } else { None })
        }
    }
}

use std::ffi::CString;
use std::time::Instant;

/// std::hint::black_box for compilers before 1.66.
fn black_box<T>(value: T) -> T {
    unsafe {
        let copy = std::ptr::read_volatile(&value);
        std::mem::forget(value);
        copy
    }
}

const WORDS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"];

/// One String for each word and one for the result that grows: more than it needs.
#[inline(never)]
fn join_slowly() -> String {
    let mut text = String::new();
    for word in WORDS {
        text = format!("{}{}", text, word);
    }
    text
}

/// One allocation.
#[inline(never)]
fn join() -> String {
    WORDS.concat()
}

fn measure(name: &str, function: fn() -> String) {
    const ROUNDS: u32 = 500;
    let c_name = CString::new(name).unwrap();
    let begin = Instant::now();
    let mut last = None;
    for _ in 0..ROUNDS {
        let (_, counts) = memhawk::window(&c_name, || {
            black_box(function());
        });
        last = counts;
    }
    let ns = begin.elapsed().as_nanos() / u128::from(ROUNDS);
    match last {
        Some(c) => println!("{name} {ns} ns, {} allocations, {} bytes", c.allocations, c.bytes),
        None => println!("{name} {ns} ns, allocations not measured"),
    }
}

fn main() {
    measure("join_slowly", join_slowly);
    measure("join", join);
}
