//! The Rust half of the benchmarks: the scenarios of `../../scenarios/`, once, for every crate that takes part.

mod algorithm_data;
pub mod algorithms;
mod fork_join;
mod loops;
mod measure;
mod outside;
pub mod programs;
mod tree;
pub mod work;

use measure::Measurement;

/// A contender, made with the number of threads that may compute at once.
pub trait Runtime: Sized {
    const NAME: &'static str;
    /// Whether [`Runtime::scope`], [`Runtime::scope_of_two`] and [`Runtime::enqueue`] exist.
    const SCOPES: bool = false;
    const ENQUEUES: bool = false;

    /// What the library hands to a closure so that it can fork.
    type Fork<'a>;

    /// `outside`: the work comes from a thread that takes no part in it.
    fn new(workers: usize, outside: bool) -> Self;

    /// `f` inside the pool; returns when it is done.
    fn run<T: Send>(&mut self, f: impl FnOnce(&mut Self::Fork<'_>) -> T + Send) -> T;

    /// Both, perhaps at once; `first` is the one that the caller begins with.
    fn join<A, B, RA, RB>(fork: &mut Self::Fork<'_>, first: A, second: B) -> (RA, RB)
    where
        A: for<'x> FnOnce(&mut Self::Fork<'x>) -> RA + Send,
        B: for<'x> FnOnce(&mut Self::Fork<'x>) -> RB + Send,
        RA: Send,
        RB: Send;

    /// `f(i)` for all `i < n`. A library without loops halves the range down to single items.
    fn for_index<F: Fn(usize) + Sync>(fork: &mut Self::Fork<'_>, n: usize, f: &F) {
        loops::halve::<Self, F>(fork, 0, n, f);
    }

    /// `n` spawns of `f(i)`, and a wait.
    fn scope<F: Fn(usize) + Sync>(_: &mut Self::Fork<'_>, _n: usize, _f: &F) {
        unreachable!()
    }

    /// A scope that spawns `first` and calls `second` itself.
    fn scope_of_two<A, B>(_: &mut Self::Fork<'_>, _first: A, _second: B)
    where
        A: for<'x> FnOnce(&mut Self::Fork<'x>) + Send,
        B: for<'x> FnOnce(&mut Self::Fork<'x>) + Send,
    {
        unreachable!()
    }

    /// `f()` some time later.
    fn enqueue<F: FnOnce() + Send + 'static>(&self, _f: F) {
        unreachable!()
    }
}

fn perform<R: Runtime>(scenario: &str, workers: usize, size: u64) -> Option<Measurement> {
    let mut r = R::new(workers, matches!(scenario, "enqueue" | "wake"));
    Some(match scenario {
        "fib" => fork_join::fib(&mut r, size),
        "skynet" => fork_join::skynet(&mut r, size),
        "nqueens" => fork_join::nqueens(&mut r, size),
        "flatjoin" => fork_join::flat_join(&mut r, size),
        "hidden" => fork_join::hidden(&mut r, size),
        "tree" => tree::tree::<false, R>(&mut r, size),
        "tree10" => tree::tree::<true, R>(&mut r, size),
        "iterate" => loops::iterate::<false, R>(&mut r, size),
        "iterate10" => loops::iterate::<true, R>(&mut r, size),
        "scopetree" if R::SCOPES => tree::scope_tree(&mut r, size),
        "flat" if R::SCOPES => loops::flat_scope(&mut r, size),
        "enqueue" if R::ENQUEUES => outside::enqueue(&r, size),
        "wake" if R::ENQUEUES => outside::wake(&r, size),
        "idle" => outside::idle(&mut r, size),
        _ => return None,
    })
}

/// The scenario, the number of workers and the size that the command line gives; ends the program if it does not.
fn arguments(name: &str) -> (String, usize, u64) {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |i: usize| arguments.get(i).and_then(|a| a.parse::<u64>().ok());
    let (Some(scenario), Some(workers), Some(size)) = (arguments.get(1), number(2), number(3)) else {
        eprintln!("usage: bench-{name} SCENARIO WORKERS SIZE");
        std::process::exit(2);
    };
    (scenario.clone(), workers as usize, size)
}

/// `bench-<contender> SCENARIO WORKERS SIZE`: one measurement, one line of JSON.
pub fn drive<R: Runtime>() {
    let (scenario, workers, size) = arguments(R::NAME);
    match perform::<R>(&scenario, workers, size) {
        Some(m) => println!("{}", m.json(R::NAME, version_of(R::NAME))),
        None => {
            eprintln!("{} has no scenario {scenario}", R::NAME);
            std::process::exit(3);
        }
    }
}

/// The version that the lock file pins.
fn version_of(name: &str) -> &'static str {
    let wanted = format!("name = \"{name}\"\nversion = \"");
    let rest = include_str!("../../Cargo.lock").split_once(&wanted);
    rest.and_then(|(_, r)| r.split('"').next()).unwrap_or("?")
}
