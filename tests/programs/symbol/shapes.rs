// SPDX-License-Identifier: Apache-2.0
// Built by tests/unit/test_symbol.c where rustc is installed, with both manglings.
mod barn {
    pub struct Horse<T> {
        pub age: T,
    }
    impl<T: Copy + Into<u64>> Horse<T> {
        #[inline(never)]
        pub fn years(&self) -> u64 {
            std::hint::black_box(self.age.into())
        }
    }
    #[inline(never)]
    pub fn stable(n: u32) -> u64 {
        let horse = Horse { age: std::hint::black_box(n) };
        horse.years() + (|| std::hint::black_box(1u64))()
    }
}

fn main() {
    std::process::exit((barn::stable(3) != 4) as i32);
}
