//! The work that scenarios hand to a contender: what `harness/work.hpp` says, in Rust.

use std::arch::asm;
use std::cell::Cell;
use std::sync::OnceLock;

/// Makes the compiler believe that `value` is used and may have changed, at the price of no instruction.
#[inline(always)]
pub fn keep(value: u64) -> u64 {
    let mut kept = value;
    unsafe { asm!("/* {0} */", inout(reg) kept, options(nostack, preserves_flags)) };
    kept
}

thread_local! {
    static BUSY_STATE: Cell<u64> = const { Cell::new(1) };
}

/// How many steps of `busy` take about 10 ns here.
pub fn busy_steps() -> u64 {
    static STEPS: OnceLock<u64> = OnceLock::new();
    *STEPS.get_or_init(|| {
        let given = std::env::var("RUBATO_BENCH_STEPS").ok();
        given.and_then(|s| s.parse().ok()).unwrap_or(8)
    })
}

/// A chain of dependent multiplications through the thread's own state.
#[inline(always)]
pub fn busy(steps: u64) {
    BUSY_STATE.with(|state| {
        let mut x = state.get();
        for _ in 0..steps {
            x = keep(
                x.wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407),
            );
        }
        state.set(x);
    });
}

/// `rounds` rounds of a 64-bit mixer, each fed with the last.
pub fn hash_rounds(seed: u64, rounds: u64) -> u64 {
    let mut h = seed;
    for i in 0..rounds {
        h = (h ^ i).wrapping_mul(0xff51afd7ed558ccd);
        h ^= h >> 33;
    }
    h
}
