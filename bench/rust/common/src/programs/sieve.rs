//! `scenarios/programs/sieve.hpp`.

use super::Programs;
use crate::measure::{timed, Measurement};

fn odd_primes_below(end: usize) -> Vec<usize> {
    let mut composite = vec![false; end / 2 + 1];
    let mut primes = Vec::new();
    for p in (3..end).step_by(2) {
        if composite[p / 2] {
            continue;
        }
        primes.push(p);
        for multiple in (p * p..end).step_by(2 * p) {
            composite[multiple / 2] = true;
        }
    }
    primes
}

fn count_odd_primes(mut first: usize, last: usize, primes: &[usize]) -> u64 {
    const ODDS: usize = 1 << 15;
    let mut prime = [0u8; ODDS];
    let next_of = |p: usize| {
        let multiple = (p * p).max((first / p + 1) * p);
        (if multiple % 2 == 0 { multiple + p } else { multiple } - first) / 2
    };
    let mut next: Vec<(usize, usize)> = primes.iter().map(|&p| (p, next_of(p))).collect();
    let mut found = 0;
    while first < last {
        let size = ODDS.min((last - first) / 2);
        prime.fill(1);
        for (p, place) in &mut next {
            let mut i = *place;
            while i < ODDS {
                prime[i] = 0;
                i += *p;
            }
            *place = i - ODDS;
        }
        found += prime[..size].iter().map(|&x| u64::from(x)).sum::<u64>();
        first += 2 * ODDS;
    }
    found
}

pub fn sieve<R: Programs>(r: &R, n: u64) -> Measurement {
    const BLOCK: u64 = 1 << 20;
    let end = n + n % 2;
    r.warm_up();
    r.run(|| {
        timed(1.0, || {
            let primes = odd_primes_below((n as f64).sqrt() as usize + 2);
            R::sum(end.div_ceil(BLOCK), |k| {
                count_odd_primes((k * BLOCK) as usize, ((k + 1) * BLOCK).min(end) as usize, &primes)
            })
        })
    })
}
