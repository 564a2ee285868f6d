//! rayon's sorts and parallel iterators, in a pool of its own.

use common::algorithms::{drive_algorithms, Algorithms, Counts};
use rayon::prelude::*;
use std::cmp::Ordering;

struct Rayon(rayon::ThreadPool);

impl Algorithms for Rayon {
    const NAME: &'static str = "rayon";
    const CRATE: Option<&'static str> = Some("rayon");
    const HAS: &'static [&'static str] = &[
        "sort",
        "stable",
        "filter",
        "transform",
        "map",
        "reduce",
        "min",
        "find",
        "histogram",
        "sweeps",
    ];

    fn new(workers: usize) -> Self {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(workers);
        Rayon(builder.build().unwrap())
    }

    fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        self.0.install(f)
    }

    fn sort<T: Ord + Send>(all: &mut [T]) {
        all.par_sort_unstable();
    }

    fn sort_by<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(all: &mut [T], order: F) {
        all.par_sort_unstable_by(order);
    }

    fn stable_sort<T: Ord + Send>(all: &mut [T]) {
        all.par_sort();
    }

    fn stable_sort_by<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(all: &mut [T], order: F) {
        all.par_sort_by(order);
    }

    fn filter(all: &[i32], f: impl Fn(i32) -> bool + Sync + Send) -> Vec<i32> {
        all.par_iter().copied().filter(|&v| f(v)).collect()
    }

    fn transform(all: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64 + Sync + Send) {
        let pairs = out.par_iter_mut().zip(all.par_iter());
        pairs.for_each(|(to, &v)| *to = f(v));
    }

    fn map(all: &[f64], f: impl Fn(f64) -> f64 + Sync + Send) -> Vec<f64> {
        all.par_iter().map(|&v| f(v)).collect()
    }

    fn reduce(all: &[f64]) -> f64 {
        all.par_iter().sum()
    }

    fn min_element(all: &[i32]) -> usize {
        let least = all.par_iter().enumerate().min_by_key(|&(i, &v)| (v, i));
        least.map_or(0, |(i, _)| i)
    }

    fn find_if(all: &[i32], f: impl Fn(i32) -> bool + Sync + Send) -> usize {
        let place = all.par_iter().position_first(|&v| f(v));
        place.unwrap_or(all.len())
    }

    fn histogram(all: &[u8]) -> Counts {
        let counted = all.par_iter().fold(
            || [0; 256],
            |mut counts, &b| {
                counts[usize::from(b)] += 1;
                counts
            },
        );
        counted.reduce(
            || [0; 256],
            |mut a, b| {
                a.iter_mut().zip(b).for_each(|(to, more)| *to += more);
                a
            },
        )
    }

    fn sweep(all: &mut [f64], f: impl Fn(f64) -> f64 + Sync + Send) {
        all.par_iter_mut().for_each(|v| *v = f(*v));
    }
}

fn main() {
    drive_algorithms::<Rayon>();
}
