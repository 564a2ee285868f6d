//! rayon: `join`, parallel iterators, `par_bridge` and `par_sort_unstable` in a pool of its own.

use common::programs::{drive_programs, Programs};
use rayon::prelude::*;

struct Rayon(rayon::ThreadPool);

impl Programs for Rayon {
    const NAME: &'static str = "rayon";
    const CRATE: Option<&'static str> = Some("rayon");

    fn new(workers: usize) -> Self {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
        Rayon(builder.build().unwrap())
    }

    fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        self.0.install(f)
    }

    fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B) {
        rayon::join(first, second)
    }

    fn sum(n: u64, f: impl Fn(u64) -> u64 + Sync + Send) -> u64 {
        (0..n).into_par_iter().map(f).sum()
    }

    fn for_index(n: usize, f: impl Fn(usize) + Sync + Send) {
        (0..n).into_par_iter().for_each(f);
    }

    fn for_rows(n: usize, least: usize, f: impl Fn(usize) + Sync + Send) {
        (0..n).into_par_iter().with_min_len(least).for_each(f);
    }

    fn bridge(all: impl Iterator<Item = usize> + Send, f: impl Fn(usize) + Sync + Send) {
        all.par_bridge().for_each(f);
    }

    fn sort(all: &mut [u64]) {
        all.par_sort_unstable();
    }
}

fn main() {
    drive_programs::<Rayon>();
}
