//! chili: `join` on a scope that the caller passes down. It has nothing else.

use common::Runtime;
use std::num::NonZero;

struct Chili(chili::ThreadPool);

impl Runtime for Chili {
    const NAME: &'static str = "chili";
    type Fork<'a> = chili::Scope<'a>;

    fn new(workers: usize, _outside: bool) -> Self {
        Chili(chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(workers), // the caller's thread counts
            ..Default::default()
        }))
    }

    fn run<T: Send>(&mut self, f: impl FnOnce(&mut chili::Scope<'_>) -> T + Send) -> T {
        f(&mut self.0.scope())
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(fork: &mut chili::Scope<'_>, first: A, second: B) -> (RA, RB)
    where
        A: for<'x> FnOnce(&mut chili::Scope<'x>) -> RA + Send,
        B: for<'x> FnOnce(&mut chili::Scope<'x>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // the caller runs the second closure and leaves the first to any thread that wants it
        let (b, a) = fork.join(second, first);
        (a, b)
    }
}

fn main() {
    common::drive::<Chili>();
}
