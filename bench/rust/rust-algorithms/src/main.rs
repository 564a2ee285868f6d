//! The sorts of Rust's standard library, on one thread.

use common::algorithms::{drive_algorithms, Algorithms};
use std::cmp::Ordering;

struct Rust;

impl Algorithms for Rust {
    const NAME: &'static str = "rust";
    const CRATE: Option<&'static str> = None;
    const HAS: &'static [&'static str] = &["sort", "stable"];

    fn new(_workers: usize) -> Self {
        Rust
    }

    fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        f()
    }

    fn sort<T: Ord + Send>(all: &mut [T]) {
        all.sort_unstable();
    }

    fn sort_by<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(all: &mut [T], order: F) {
        all.sort_unstable_by(order);
    }

    fn stable_sort<T: Ord + Send>(all: &mut [T]) {
        all.sort();
    }

    fn stable_sort_by<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(all: &mut [T], order: F) {
        all.sort_by(order);
    }
}

fn main() {
    drive_algorithms::<Rust>();
}
