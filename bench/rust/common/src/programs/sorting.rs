//! `scenarios/programs/mergesort.hpp` and `quicksort.hpp`.

use super::{random_at, Programs};
use crate::measure::{timed, Measurement};

const FEW: usize = 20;
const WORTH_A_FORK: usize = 1024;

fn random_numbers(n: u64) -> Vec<u32> {
    (0..n).map(|i| random_at(0, i) as u32).collect()
}

fn sum_of_places(all: &[u32]) -> u64 {
    let places = 1u64..;
    all.iter()
        .zip(places)
        .fold(0, |sum, (&x, place)| sum.wrapping_add(place * u64::from(x)))
}

fn insertion_sort(items: &mut [u32]) {
    for i in 1..items.len() {
        let x = items[i];
        let mut hole = i;
        while hole != 0 && x < items[hole - 1] {
            items[hole] = items[hole - 1];
            hole -= 1;
        }
        items[hole] = x;
    }
}

/// From both ends at once, and without a branch that depends on the items.
fn merge_runs(a: &[u32], b: &[u32], out: &mut [u32]) {
    assert_eq!(a.len() + b.len(), out.len());
    let (a, b) = (a.as_ptr_range(), b.as_ptr_range());
    let out = out.as_mut_ptr_range();
    let (mut a_first, mut a_last, mut b_first, mut b_last) = (a.start, a.end, b.start, b.end);
    let (mut first, mut last) = (out.start, out.end);
    // So many steps from each end exhaust neither range.
    unsafe {
        loop {
            let steps = a_last.offset_from(a_first).min(b_last.offset_from(b_first)) / 2;
            if steps < 2 {
                break;
            }
            for _ in 0..steps {
                let from_b = *b_first < *a_first;
                *first = if from_b { *b_first } else { *a_first };
                first = first.add(1);
                b_first = b_first.add(usize::from(from_b));
                a_first = a_first.add(usize::from(!from_b));
                let from_a = *b_last.sub(1) < *a_last.sub(1);
                last = last.sub(1);
                *last = if from_a { *a_last.sub(1) } else { *b_last.sub(1) };
                a_last = a_last.sub(usize::from(from_a));
                b_last = b_last.sub(usize::from(!from_a));
            }
        }
        while a_first != a_last && b_first != b_last {
            if *b_first < *a_first {
                *first = *b_first;
                b_first = b_first.add(1);
            } else {
                *first = *a_first;
                a_first = a_first.add(1);
            }
            first = first.add(1);
        }
        let left = a_last.offset_from(a_first) as usize;
        std::ptr::copy_nonoverlapping(a_first, first, left);
        std::ptr::copy_nonoverlapping(b_first, first.add(left), b_last.offset_from(b_first) as usize);
    }
}

fn merge_in_halves<R: Programs>(a: &[u32], b: &[u32], out: &mut [u32]) {
    if out.len() <= 4 * WORTH_A_FORK {
        return merge_runs(a, b, out);
    }
    let (from_a, from_b) = if a.len() >= b.len() {
        let middle = a.len() / 2;
        (middle, b.partition_point(|x| *x < a[middle]))
    } else {
        let middle = b.len() / 2;
        (a.partition_point(|x| *x <= b[middle]), middle)
    };
    let (low, high) = out.split_at_mut(from_a + from_b);
    R::join(
        || merge_in_halves::<R>(&a[..from_a], &b[..from_b], low),
        || merge_in_halves::<R>(&a[from_a..], &b[from_b..], high),
    );
}

fn sort_into<R: Programs>(items: &mut [u32], other: &mut [u32], into_other: bool) {
    if items.len() <= FEW {
        insertion_sort(items);
        if into_other {
            other.copy_from_slice(items);
        }
        return;
    }
    let middle = items.len() / 2;
    let large = items.len() > WORTH_A_FORK;
    {
        let (low, high) = items.split_at_mut(middle);
        let (other_low, other_high) = other.split_at_mut(middle);
        let first = || sort_into::<R>(low, other_low, !into_other);
        let second = || sort_into::<R>(high, other_high, !into_other);
        if large {
            R::join(first, second);
        } else {
            let (mut first, mut second) = (first, second);
            first();
            second();
        }
    }
    let (from, to) = if into_other {
        (items, other)
    } else {
        (other, items)
    };
    let (low, high) = from.split_at(middle);
    merge_in_halves::<R>(low, high, to);
}

pub fn mergesort<R: Programs>(r: &R, n: u64) -> Measurement {
    let mut items = random_numbers(n);
    let mut other = vec![0; n as usize];
    r.warm_up();
    let mut m = r.run(|| {
        timed(1.0, || {
            sort_into::<R>(&mut items, &mut other, false);
            0
        })
    });
    m.checksum = sum_of_places(&items);
    m
}

fn partition_by(items: &mut [u32], is_low: impl Fn(u32) -> bool) -> usize {
    let mut low = 0;
    for i in 0..items.len() {
        let x = items[i];
        // low <= i: no bound needs to be looked at.
        unsafe {
            *items.get_unchecked_mut(i) = *items.get_unchecked(low);
            *items.get_unchecked_mut(low) = x;
        }
        low += usize::from(is_low(x));
    }
    low
}

fn median(a: u32, b: u32, c: u32) -> u32 {
    a.min(b).max(a.max(b).min(c))
}

fn choose_pivot(items: &[u32]) -> u32 {
    let step = items.len() / 9;
    let of_three = |i: usize| median(items[i * step], items[(i + 1) * step], items[(i + 2) * step]);
    median(of_three(0), of_three(3), of_three(6))
}

fn quicksort_to<R: Programs>(items: &mut [u32], depth: usize) {
    if items.len() <= FEW {
        return insertion_sort(items);
    }
    if depth == 0 {
        return items.sort_unstable(); // never with random numbers
    }
    let pivot = choose_pivot(items);
    let low = partition_by(items, |x| x < pivot);
    if low == 0 {
        let equal = partition_by(items, |x| x <= pivot);
        return quicksort_to::<R>(&mut items[equal..], depth - 1);
    }
    let large = items.len() > WORTH_A_FORK;
    let (first, second) = items.split_at_mut(low);
    if large {
        R::join(
            || quicksort_to::<R>(first, depth - 1),
            || quicksort_to::<R>(second, depth - 1),
        );
    } else {
        quicksort_to::<R>(first, depth - 1);
        quicksort_to::<R>(second, depth - 1);
    }
}

pub fn quicksort<R: Programs>(r: &R, n: u64) -> Measurement {
    let mut items = random_numbers(n);
    let depth = 2 * (u64::BITS - n.leading_zeros()) as usize;
    r.warm_up();
    let mut m = r.run(|| {
        timed(1.0, || {
            quicksort_to::<R>(&mut items, depth);
            0
        })
    });
    m.checksum = sum_of_places(&items);
    m
}
