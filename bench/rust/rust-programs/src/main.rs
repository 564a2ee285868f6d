//! Plain calls and loops, and `sort_unstable`, on one thread.

use common::programs::{drive_programs, Programs};

struct Rust;

impl Programs for Rust {
    const NAME: &'static str = "rust";
    const CRATE: Option<&'static str> = None;

    fn new(_workers: usize) -> Self {
        Rust
    }

    fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        f()
    }

    fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        (first(), second())
    }

    fn sum(n: u64, f: impl Fn(u64) -> u64 + Sync + Send) -> u64 {
        (0..n).map(f).sum()
    }

    fn for_index(n: usize, f: impl Fn(usize) + Sync + Send) {
        (0..n).for_each(f);
    }

    fn for_rows(n: usize, _least: usize, f: impl Fn(usize) + Sync + Send) {
        (0..n).for_each(f);
    }

    fn bridge(all: impl Iterator<Item = usize> + Send, f: impl Fn(usize) + Sync + Send) {
        all.for_each(f);
    }

    fn sort(all: &mut [u64]) {
        all.sort_unstable();
    }
}

fn main() {
    drive_programs::<Rust>();
}
