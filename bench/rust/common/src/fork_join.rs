//! fib, skynet, nqueens, joins in a flat loop, and jobs hidden behind a leaf: see the headers of the same names.

use crate::measure::*;
use crate::work::keep;
use crate::Runtime;
use std::sync::Mutex;
use std::thread::ThreadId;

#[inline(never)]
fn fib_of<R: Runtime>(fork: &mut R::Fork<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = R::join(fork, |k| fib_of::<R>(k, n - 1), |k| fib_of::<R>(k, n - 2));
    a + b
}

/// Lets the contender start its threads before the clock does.
pub fn warm_up<R: Runtime>(r: &mut R) {
    keep(r.run(|fork| fib_of::<R>(fork, 18)));
}

pub fn fib<R: Runtime>(r: &mut R, n: u64) -> Measurement {
    warm_up(r);
    r.run(|fork| timed(1.0, || fib_of::<R>(fork, n)))
}

/// f(lo) + ... + f(hi - 1), each a possible fork.
fn sum<R: Runtime, F>(fork: &mut R::Fork<'_>, lo: u64, hi: u64, f: &F) -> u64
where
    F: for<'x> Fn(&mut R::Fork<'x>, u64) -> u64 + Sync,
{
    match hi - lo {
        0 => 0,
        1 => f(fork, lo),
        n => {
            let middle = lo + n / 2;
            let (a, b) = R::join(
                fork,
                |k| sum::<R, F>(k, lo, middle, f),
                |k| sum::<R, F>(k, middle, hi, f),
            );
            a + b
        }
    }
}

#[inline(never)]
fn skynet_of<R: Runtime>(fork: &mut R::Fork<'_>, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    sum::<R, _>(fork, 0, 10, &|k: &mut R::Fork<'_>, i| {
        skynet_of::<R>(k, first + i * part, part)
    })
}

pub fn skynet<R: Runtime>(r: &mut R, levels: u64) -> Measurement {
    let leaves = 10u64.pow(levels as u32);
    warm_up(r);
    r.run(|fork| timed(1.0, || skynet_of::<R>(fork, 0, leaves)))
}

#[derive(Clone, Copy, Default)]
struct Board {
    column: [i8; 16],
}

impl Board {
    fn free(&self, row: usize, col: i32) -> bool {
        (0..row).all(|r| {
            let distance = self.column[r] as i32 - col;
            let rows = (row - r) as i32;
            distance != 0 && distance != rows && distance != -rows
        })
    }
}

#[inline(never)]
fn queens_from<R: Runtime>(fork: &mut R::Fork<'_>, b: &Board, row: usize, n: usize) -> u64 {
    if row == n {
        return 1;
    }
    let mut open = [0i8; 16];
    let mut count = 0;
    for col in 0..n {
        if b.free(row, col as i32) {
            open[count] = col as i8;
            count += 1;
        }
    }
    sum::<R, _>(fork, 0, count as u64, &|k: &mut R::Fork<'_>, i| {
        let mut next = *b;
        next.column[row] = open[i as usize];
        queens_from::<R>(k, &next, row + 1, n)
    })
}

pub fn nqueens<R: Runtime>(r: &mut R, n: u64) -> Measurement {
    warm_up(r);
    r.run(|fork| timed(1.0, || queens_from::<R>(fork, &Board::default(), 0, n as usize)))
}

pub fn flat_join<R: Runtime>(r: &mut R, joins: u64) -> Measurement {
    warm_up(r);
    r.run(|fork| {
        timed(joins as f64, || {
            let mut total = 0u64;
            for i in 0..joins {
                let (a, b) = R::join(fork, |_| keep(i), |_| keep(i ^ 1));
                total = total.wrapping_add(a + b);
            }
            total - joins * (joins - 1)
        })
    })
}

#[derive(Clone, Copy)]
struct Interval {
    start: u64,
    end: u64,
    thread: ThreadId,
}

impl Interval {
    fn filled(ns: u64) -> Interval {
        let start = now_ns();
        compute_for(ns);
        Interval {
            start,
            end: now_ns(),
            thread: std::thread::current().id(),
        }
    }
}

#[derive(Default)]
struct HidingPlace {
    jobs: Mutex<Vec<Interval>>,
    leaf: Mutex<Option<Interval>>,
}

impl HidingPlace {
    fn descend<R: Runtime>(&self, fork: &mut R::Fork<'_>, depth: u64) -> u64 {
        if depth == 40 {
            let interval = Interval::filled(60_000_000);
            *self.leaf.lock().unwrap() = Some(interval);
            return 1;
        }
        let job = |_: &mut R::Fork<'_>| {
            let interval = Interval::filled(1_000_000);
            self.jobs.lock().unwrap().push(interval);
            1
        };
        let (below, here) = R::join(fork, |k| self.descend::<R>(k, depth + 1), job);
        below + here
    }

    fn add_latencies(self, latencies: &mut Vec<f64>) {
        let leaf = self.leaf.into_inner().unwrap().unwrap();
        let mut jobs = self.jobs.into_inner().unwrap();
        jobs.sort_by_key(|job| job.start);
        let mut idle_since = leaf.start;
        for job in jobs {
            if job.start >= idle_since {
                latencies.push((job.start - idle_since) as f64);
            }
            if job.thread != leaf.thread {
                idle_since = idle_since.max(job.end);
            }
        }
    }
}

pub fn hidden<R: Runtime>(r: &mut R, repeats: u64) -> Measurement {
    warm_up(r);
    let (mut totals, mut latencies, mut checksum) = (Vec::new(), Vec::new(), 0);
    let cpu = cpu_ns();
    for _ in 0..repeats {
        sleep_ns(5_000_000);
        let place = HidingPlace::default();
        let start = now_ns();
        checksum += r.run(|fork| place.descend::<R>(fork, 0));
        totals.push((now_ns() - start) as f64);
        place.add_latencies(&mut latencies);
    }
    Measurement {
        ns: quantile(&totals, 0.5),
        cpu_ns: (cpu_ns() - cpu) as f64 / repeats as f64,
        checksum,
        extra: vec![
            ("start_p50_ns", quantile(&latencies, 0.5)),
            ("start_p99_ns", quantile(&latencies, 0.99)),
        ],
    }
}
