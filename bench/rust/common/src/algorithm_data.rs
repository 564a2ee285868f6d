//! The inputs of the algorithms and their checksums: what `scenarios/algorithm_data.hpp` says, in Rust.

use crate::work::hash_rounds;

/// The i-th number of splitmix64 with the seed 0.
pub fn random_at(i: u64) -> u64 {
    let mut z = (i + 1).wrapping_mul(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
    z ^ z >> 31
}

#[derive(Clone, Copy)]
pub struct KeyedRecord {
    pub key: u64,
    pub place: u64,
}

pub fn random_string(i: u64) -> String {
    let (low, high) = (random_at(2 * i), random_at(2 * i + 1));
    let letter = |k: u64| {
        let bits = if k < 12 {
            low >> (5 * k)
        } else {
            high >> (8 + 5 * (k - 12))
        };
        char::from(b'a' + (bits % 32 % 26) as u8)
    };
    (0..12 + high % 7).map(letter).collect()
}

pub fn made_by<T>(n: u64, value: impl Fn(u64) -> T) -> Vec<T> {
    (0..n).map(value).collect()
}

pub fn random_int(i: u64) -> i32 {
    (random_at(i) >> 32) as i32
}

pub fn positive_int(i: u64) -> i32 {
    (random_at(i) >> 33) as i32
}

pub fn random_double(i: u64) -> f64 {
    (random_at(i) >> 11) as f64 / (1u64 << 53) as f64
}

pub fn whole_double(i: u64) -> f64 {
    (random_at(i) >> 54) as f64
}

pub fn mixed(sum: u64, value: u64) -> u64 {
    hash_rounds(sum ^ value, 1)
}

pub trait Bits {
    fn bits(&self) -> u64;
}

impl Bits for i32 {
    fn bits(&self) -> u64 {
        u64::from(*self as u32)
    }
}

impl Bits for f64 {
    fn bits(&self) -> u64 {
        self.to_bits()
    }
}

impl Bits for String {
    fn bits(&self) -> u64 {
        self.bytes().fold(0xcbf29ce484222325, |h, c| {
            (h ^ u64::from(c)).wrapping_mul(0x100000001b3)
        })
    }
}

pub fn checksum_of<T: Bits>(all: &[T]) -> u64 {
    all.iter().fold(all.len() as u64, |sum, v| mixed(sum, v.bits()))
}

pub fn checksum_of_some<T: Bits>(all: &[T]) -> u64 {
    let some = all.iter().step_by(61);
    some.fold(all.len() as u64, |sum, v| mixed(sum, v.bits()))
}

pub fn checksum_of_records<const STABLE: bool>(all: &[KeyedRecord]) -> u64 {
    let (mut sum, mut places) = (all.len() as u64, 0u64);
    for r in all {
        sum = mixed(sum, r.key);
        if STABLE {
            sum = mixed(sum, r.place);
        }
        places = places.wrapping_add(mixed(r.key, r.place));
    }
    sum.wrapping_add(places)
}
