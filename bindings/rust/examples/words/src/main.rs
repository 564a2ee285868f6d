//! Counts words with rayon while a C++ library in the same process counts their lengths with Rubato's loops: on the same threads.
//!
//! `words FILE`; without a file it makes a text.

use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};

// It links the library that the C++ half needs.
extern crate rubato_sys;

extern "C" {
    fn words_count_lengths(text: *const u8, size: usize, counts: *mut u64, rooms: usize);
    fn words_threads_of_pool(threads: *mut usize, room: usize) -> usize;
    fn pthread_self() -> usize;
}

fn words(text: &str) -> impl ParallelIterator<Item = &str> {
    text.par_split([' ', '\n']).filter(|word| !word.is_empty())
}

/// How often each word occurs, by rayon.
fn count_words(text: &str) -> HashMap<&str, u64> {
    words(text)
        .fold(HashMap::new, |mut counts, word| {
            *counts.entry(word).or_insert(0) += 1;
            counts
        })
        .reduce(HashMap::new, |mut counts, later| {
            for (word, n) in later {
                *counts.entry(word).or_insert(0) += n;
            }
            counts
        })
}

/// How many words there are of each length in bytes, by C++. Longer ones count as the longest.
fn count_lengths(text: &str) -> Vec<u64> {
    let mut counts = vec![0; 32];
    // SAFETY: the text and the counts are there during the call.
    unsafe { words_count_lengths(text.as_ptr(), text.len(), counts.as_mut_ptr(), counts.len()) };
    counts
}

/// The threads of the pool as Rust sees them, and as C++ does.
fn threads() -> (BTreeSet<usize>, BTreeSet<usize>) {
    // SAFETY: a function of the C library without conditions.
    let rust = rayon::broadcast(|_| unsafe { pthread_self() }).into_iter().collect();
    let mut found = vec![0; 1024];
    // SAFETY: the place is there during the call.
    let number = unsafe { words_threads_of_pool(found.as_mut_ptr(), found.len()) };
    (rust, found.into_iter().take(number).collect())
}

fn main() -> std::io::Result<()> {
    let text = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => (0..300_000).map(|i| format!("word{} and\n", i % 1000)).collect(),
    };
    let (by_word, by_length) = rayon::join(|| count_words(&text), || count_lengths(&text));

    let total: u64 = by_word.values().sum();
    assert_eq!(total, by_length.iter().sum(), "both halves have read the same words");
    let (rust, cpp) = threads();
    assert_eq!(rust, cpp, "Rust and C++ have the same threads");
    assert_eq!(rust.len(), rayon::current_num_threads());

    let mut most: Vec<_> = by_word.iter().collect();
    most.par_sort_unstable_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    println!("{total} words, {} different, on {} threads", by_word.len(), rust.len());
    for (word, n) in most.iter().take(5) {
        println!("{n:9} {word}");
    }
    for (length, n) in by_length.iter().enumerate().filter(|(_, n)| **n != 0) {
        println!("{n:9} of {length} bytes");
    }
    Ok(())
}
