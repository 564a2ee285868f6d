//! Loops over an array and flat scopes: see `scenarios/iterate.hpp` and `scenarios/flat_scope.hpp`.

use crate::fork_join::warm_up;
use crate::measure::*;
use crate::work::{busy, busy_steps, hash_rounds, keep};
use crate::Runtime;

pub fn halve<R: Runtime, F: Fn(usize) + Sync>(fork: &mut R::Fork<'_>, lo: usize, hi: usize, f: &F) {
    match hi - lo {
        0 => {}
        1 => f(lo),
        n => {
            let middle = lo + n / 2;
            R::join(
                fork,
                |k| halve::<R, F>(k, lo, middle, f),
                |k| halve::<R, F>(k, middle, hi, f),
            );
        }
    }
}

/// An array whose items are written by the threads that got their index, each index by one.
struct Shared<T>(*mut T);
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Safe as long as no other thread has `i` and the array lives.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    unsafe fn at(&self, i: usize) -> &mut T {
        unsafe { &mut *self.0.add(i) }
    }
}

pub fn iterate<const BUSY: bool, R: Runtime>(r: &mut R, items: u64) -> Measurement {
    let mut data = vec![0u32; items as usize];
    let repeats = (if BUSY { 5_000_000 } else { 20_000_000 } / items).max(1);
    let steps = busy_steps();
    let shared = Shared(data.as_mut_ptr());
    let shared = &shared;
    let each = move |i: usize| {
        if BUSY {
            busy(steps);
        }
        let item = unsafe { shared.at(i) };
        *item = keep(u64::from(*item) + 1) as u32;
    };
    warm_up(r);
    let mut m = r.run(|fork| {
        R::for_index(fork, items as usize, &each); // touches the memory
        timed(repeats as f64, || {
            for _ in 0..repeats {
                R::for_index(fork, items as usize, &each);
            }
            0
        })
    });
    m.checksum = data.iter().map(|&x| u64::from(x)).sum();
    m
}

pub fn flat_scope<R: Runtime>(r: &mut R, spawns: u64) -> Measurement {
    let mut out = vec![0u64; spawns as usize];
    let repeats = (50_000 / spawns).max(1);
    let shared = Shared(out.as_mut_ptr());
    let shared = &shared;
    warm_up(r);
    let mut m = r.run(|fork| {
        timed(repeats as f64, || {
            for k in 0..repeats {
                R::scope(fork, spawns as usize, &move |i: usize| {
                    let item = unsafe { shared.at(i) };
                    *item = item.wrapping_add(hash_rounds(keep(i as u64 + k), 200));
                });
            }
            0
        })
    });
    m.checksum = out.iter().fold(0, |sum: u64, &h| sum.wrapping_add(h));
    m
}
