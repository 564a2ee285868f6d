//! Algorithms of the crates: what `harness/algorithms.hpp` and the scenarios behind it say, in Rust.

use crate::algorithm_data::*;
use crate::measure::{cpu_ns, now_ns, quantile, sleep_ns, timed, Measurement};
use crate::work::keep;
use crate::{arguments, version_of};
use std::cmp::Ordering;

pub type Counts = [u64; 256];

/// A contender, made with the number of threads that may compute at once. It takes part in the scenarios whose
/// members it has: those that `HAS` begins.
pub trait Algorithms: Sized + Sync {
    const NAME: &'static str;
    /// What the lock file calls it; nothing: it is the compiler's own library.
    const CRATE: Option<&'static str>;
    const HAS: &'static [&'static str];

    fn new(workers: usize) -> Self;
    /// `f` inside the pool.
    fn run<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T;

    fn sort<T: Ord + Send>(all: &mut [T]);
    fn sort_by<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(all: &mut [T], order: F);
    fn stable_sort<T: Ord + Send>(all: &mut [T]);
    fn stable_sort_by<T: Send, F: Fn(&T, &T) -> Ordering + Sync>(all: &mut [T], order: F);

    fn filter(_all: &[i32], _f: impl Fn(i32) -> bool + Sync + Send) -> Vec<i32> {
        unreachable!()
    }
    fn transform(_all: &[f64], _out: &mut [f64], _f: impl Fn(f64) -> f64 + Sync + Send) {
        unreachable!()
    }
    fn map(_all: &[f64], _f: impl Fn(f64) -> f64 + Sync + Send) -> Vec<f64> {
        unreachable!()
    }
    fn reduce(_all: &[f64]) -> f64 {
        unreachable!()
    }
    fn min_element(_all: &[i32]) -> usize {
        unreachable!()
    }
    fn find_if(_all: &[i32], _f: impl Fn(i32) -> bool + Sync + Send) -> usize {
        unreachable!()
    }
    fn histogram(_all: &[u8]) -> Counts {
        unreachable!()
    }
    fn sweep(_all: &mut [f64], _f: impl Fn(f64) -> f64 + Sync + Send) {
        unreachable!()
    }
}

const NAP_NS: u64 = 5_000_000;

fn repeats_for(items: u64) -> u64 {
    (30_000_000 / items.max(1)).clamp(3, 20_000)
}

/// Times `op(state)` after `prepare(state)`: the mean back to back, the median after a sleep.
fn repeat_prepared<R: Algorithms, S: Send>(
    r: &R,
    slept: bool,
    repeats: u64,
    state: &mut S,
    prepare: impl Fn(&mut S) + Sync,
    op: impl Fn(&mut S) + Sync,
) -> Measurement {
    let mut all: Vec<f64> = Vec::new();
    let mut cpu = 0;
    let mut once = |call: &mut dyn FnMut()| {
        let (used, start) = (cpu_ns(), now_ns());
        call();
        all.push((now_ns() - start) as f64);
        cpu += cpu_ns() - used;
    };
    r.run(|| {
        prepare(state);
        op(state); // starts the threads, touches the memory
    });
    if slept {
        for _ in 0..repeats.min(40) {
            prepare(state);
            sleep_ns(NAP_NS);
            once(&mut || r.run(|| op(state)));
        }
    } else {
        let once = std::sync::Mutex::new(SendPointer(&mut once));
        r.run(|| {
            let mut once = once.lock().unwrap();
            for _ in 0..repeats {
                prepare(state);
                (once.0)(&mut || op(state));
            }
        });
    }
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let mut m = Measurement {
        ns: mean,
        cpu_ns: cpu as f64 / count,
        ..Default::default()
    };
    if slept {
        m.ns = quantile(&all, 0.5);
        m.extra = vec![("mean_ns", mean), ("p99_ns", quantile(&all, 0.99))];
    }
    m
}

/// One thread at a time uses the clock that is in it.
struct SendPointer<'a, F>(&'a mut F);
unsafe impl<F> Send for SendPointer<'_, F> {}

/// The same for an operation that finds its input as it left it.
fn repeat<R: Algorithms, S: Send>(
    r: &R,
    slept: bool,
    repeats: u64,
    state: &mut S,
    op: impl Fn(&mut S) + Sync,
) -> Measurement {
    if slept {
        return repeat_prepared(r, slept, repeats, state, |_| (), op);
    }
    r.run(|| {
        op(state); // starts the threads, touches the memory
        timed(repeats as f64, || {
            for _ in 0..repeats {
                op(state);
            }
            0
        })
    })
}

const BATCH_ITEMS: u64 = 1 << 20;

fn items_for(n: u64, slept: bool) -> u64 {
    if n >= 100_000 || slept {
        n
    } else {
        n * (BATCH_ITEMS / n).max(1)
    }
}

/// Sorts of `n` items at a time; short ones in batches of different arrays.
fn sorting<R: Algorithms, T: Clone + Send + Sync>(
    r: &R,
    slept: bool,
    n: u64,
    value: impl Fn(u64) -> T,
    sort: impl Fn(&mut [T]) + Sync,
    checksum: impl Fn(&[T]) -> u64,
) -> Measurement {
    let original = made_by(items_for(n, slept), value);
    let arrays = original.len() as u64 / n;
    let repeats = if n >= 1_000_000 {
        1
    } else if arrays > 1 {
        3
    } else {
        10
    };
    let mut work = original.clone();
    let restore = |work: &mut Vec<T>| work.clone_from_slice(&original);
    let mut m = repeat_prepared(r, slept, repeats, &mut work, restore, |work| {
        work.chunks_exact_mut(n as usize).for_each(&sort)
    });
    m.ns /= arrays as f64;
    m.cpu_ns /= arrays as f64;
    m.checksum = checksum(&work);
    m
}

fn perform_sorting<R: Algorithms>(r: &R, what: &str, slept: bool, n: u64) -> Option<Measurement> {
    let ints = |value: fn(u64) -> i32| sorting(r, slept, n, value, R::sort, checksum_of);
    let record = |i| KeyedRecord {
        key: random_at(i) >> 40,
        place: i,
    };
    let by_key = |a: &KeyedRecord, b: &KeyedRecord| a.key.cmp(&b.key);
    // Doubles have no order of their own.
    let doubles = |all: &mut [f64]| R::sort_by(all, f64::total_cmp);
    Some(match what {
        "sort-int" => ints(random_int),
        "sort-sorted" => ints(|i| i as i32),
        "sort-reversed" => ints(|i| -(i as i32)),
        "sort-constant" => ints(|_| 42),
        "sort-ten" => ints(|i| (random_at(i) % 10) as i32),
        "sort-string" => sorting(r, slept, n, random_string, R::sort, checksum_of),
        "sort-double" => sorting(r, slept, n, random_double, doubles, checksum_of),
        "sort-double-less" => {
            let sort = |all: &mut [f64]| R::sort_by(all, |a, b| a.partial_cmp(b).unwrap());
            sorting(r, slept, n, random_double, sort, checksum_of)
        }
        "sort-int-less" => {
            let sort = |all: &mut [i32]| R::sort_by(all, |a, b| a.cmp(b));
            sorting(r, slept, n, random_int, sort, checksum_of)
        }
        "sort-record" => {
            let sort = |all: &mut [KeyedRecord]| R::sort_by(all, by_key);
            sorting(r, slept, n, record, sort, checksum_of_records::<false>)
        }
        "stable-int" => sorting(r, slept, n, random_int, R::stable_sort, checksum_of),
        "stable-record" => {
            let sort = |all: &mut [KeyedRecord]| R::stable_sort_by(all, by_key);
            sorting(r, slept, n, record, sort, checksum_of_records::<true>)
        }
        _ => return None,
    })
}

fn perform_passes<R: Algorithms>(r: &R, what: &str, slept: bool, n: u64) -> Option<Measurement> {
    let repeats = repeats_for(n);
    let mut m;
    match what {
        "filter" => {
            let all = made_by(n, random_int);
            let mut out = Vec::new();
            m = repeat(r, slept, repeats, &mut out, |out| {
                *out = R::filter(&all, |v| v & 1 != 0)
            });
            m.checksum = checksum_of_some(&out);
        }
        "transform" => {
            let all = made_by(n, whole_double);
            let mut out = vec![0.0; n as usize];
            m = repeat(r, slept, repeats, &mut out, |out| {
                R::transform(&all, out, |v| 2.0 * v + 1.0)
            });
            m.checksum = checksum_of_some(&out);
        }
        "map" => {
            let all = made_by(n, whole_double);
            let mut out = Vec::new();
            m = repeat(r, slept, repeats, &mut out, |out| {
                *out = R::map(&all, |v| 2.0 * v + 1.0)
            });
            m.checksum = checksum_of_some(&out);
        }
        "reduce" => {
            let all = made_by(n, whole_double);
            let mut bits = 0;
            m = repeat(r, slept, repeats, &mut bits, |bits| {
                *bits = keep(R::reduce(&all).to_bits())
            });
            m.checksum = bits;
        }
        "min" | "find" => {
            let all = made_by(n, if what == "min" { random_int } else { positive_int });
            let mut place = 0;
            m = repeat(r, slept, repeats, &mut place, |place| {
                let found = if what == "min" {
                    R::min_element(&all)
                } else {
                    R::find_if(&all, |v| v == -1)
                };
                *place = keep(found as u64)
            });
            m.checksum = place;
        }
        "histogram" => {
            let all = made_by(n, |i| (random_at(i) >> 56) as u8);
            let mut counts = [0; 256];
            m = repeat(r, slept, repeats.min(10), &mut counts, |counts| {
                *counts = R::histogram(&all)
            });
            m.checksum = counts.iter().fold(0, |sum, &c| mixed(sum, c));
        }
        "sweeps" => {
            let original = made_by(1_500_000 / 8, whole_double);
            let mut all = original.clone();
            let restore = |all: &mut Vec<f64>| all.copy_from_slice(&original);
            m = repeat_prepared(r, slept, 1, &mut all, restore, |all| {
                for _ in 0..n {
                    R::sweep(all, |v| v + 1.0);
                }
            });
            m.ns /= n as f64;
            m.cpu_ns /= n as f64;
            m.checksum = checksum_of(&all);
        }
        _ => return None,
    }
    Some(m)
}

/// `bench-<contender> SCENARIO WORKERS SIZE`: one measurement, one line of JSON.
pub fn drive_algorithms<R: Algorithms>() {
    let (scenario, workers, size) = arguments(R::NAME);
    let what = scenario.strip_suffix("-slept").unwrap_or(&scenario);
    let slept = what != scenario;
    let r = R::new(workers);
    let known = R::HAS.iter().any(|begin| what.starts_with(begin));
    let sorted = || perform_sorting(&r, what, slept, size);
    let measured = known.then(|| sorted().or_else(|| perform_passes(&r, what, slept, size)));
    match measured.flatten() {
        Some(m) => println!("{}", m.json(R::NAME, R::CRATE.map_or("std", version_of))),
        None => {
            eprintln!("{} has no scenario {scenario}", R::NAME);
            std::process::exit(3);
        }
    }
}
