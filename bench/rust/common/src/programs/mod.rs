//! The programs of `examples/`: the scenarios of `../../../../scenarios/programs/`, and what one thread does in them, by the
//! same steps as in C++.

mod bvh;
mod life;
mod matmul;
mod sieve;
mod sorting;

use crate::measure::Measurement;
use crate::{arguments, version_of};

/// A contender, made with the number of threads that may compute at once.
pub trait Programs: Sized + Sync {
    const NAME: &'static str;
    /// What the version is of; none: the standard library.
    const CRATE: Option<&'static str>;

    fn new(workers: usize) -> Self;

    /// `f` inside the pool; returns when it is done. What follows is called inside of it.
    fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T;

    fn join<A: Send, B: Send>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B + Send) -> (A, B);

    /// `f(0) + ... + f(n - 1)`
    fn sum(n: u64, f: impl Fn(u64) -> u64 + Sync + Send) -> u64;

    /// `f(i)` for all `i < n`.
    fn for_index(n: usize, f: impl Fn(usize) + Sync + Send);

    /// The same where less than `least` of them are not worth another thread.
    fn for_rows(n: usize, least: usize, f: impl Fn(usize) + Sync + Send);

    /// `f(x)` for all `x` of a sequence that cannot be split.
    fn bridge(all: impl Iterator<Item = usize> + Send, f: impl Fn(usize) + Sync + Send);

    /// By the contender's own sort.
    fn sort(all: &mut [u64]);

    /// Lets the contender start its threads before the clock does.
    fn warm_up(&self) {
        fn fib<R: Programs>(n: u64) -> u64 {
            if n < 2 {
                return n;
            }
            let (a, b) = R::join(|| fib::<R>(n - 1), || fib::<R>(n - 2));
            a + b
        }
        std::hint::black_box(self.run(|| fib::<Self>(18)));
    }
}

/// What several threads write, each place by one.
struct Shared<T>(*mut T);
unsafe impl<T> Sync for Shared<T> {}
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    /// Safe as long as no other thread has these items and the array lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn slice(&self, begin: usize, size: usize) -> &mut [T] {
        unsafe { std::slice::from_raw_parts_mut(self.0.add(begin), size) }
    }
}

/// Number i of the stream `seed`, as `examples/shared/random_at.hpp` says.
fn random_at(seed: u64, i: u64) -> u64 {
    let mut x = seed.wrapping_add((i + 1).wrapping_mul(0x9e3779b97f4a7c15));
    x = (x ^ x >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d049bb133111eb);
    x ^ x >> 31
}

fn unit_at(seed: u64, i: u64) -> f64 {
    (random_at(seed, i) >> 11) as f64 / (1u64 << 53) as f64
}

fn perform<R: Programs>(r: &R, scenario: &str, size: u64) -> Option<Measurement> {
    Some(match scenario {
        "mergesort" => sorting::mergesort(r, size),
        "quicksort" => sorting::quicksort(r, size),
        "sieve" => sieve::sieve(r, size),
        "matmul" => matmul::matmul(r, size as usize),
        "bvh" => bvh::bvh(r, size as usize),
        "life" => life::life_at_60_hz::<false, R>(r, size),
        "lifebridged" => life::life_at_60_hz::<true, R>(r, size),
        _ => return None,
    })
}

/// `bench-<contender> SCENARIO WORKERS SIZE`: one measurement, one line of JSON.
pub fn drive_programs<R: Programs>() {
    let (scenario, workers, size) = arguments(R::NAME);
    match perform(&R::new(workers), &scenario, size) {
        Some(m) => println!("{}", m.json(R::NAME, R::CRATE.map_or("std", version_of))),
        None => {
            eprintln!("{} has no scenario {scenario}", R::NAME);
            std::process::exit(3);
        }
    }
}
