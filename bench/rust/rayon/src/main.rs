//! rayon: `join`, `scope`, parallel iterators and `spawn` in a pool of its own.

use common::Runtime;
use rayon::prelude::*;

struct Rayon(rayon::ThreadPool);

impl Runtime for Rayon {
    const NAME: &'static str = "rayon";
    const SCOPES: bool = true;
    const ENQUEUES: bool = true;
    type Fork<'a> = ();

    fn new(workers: usize, _outside: bool) -> Self {
        Rayon(
            rayon::ThreadPoolBuilder::new()
                .num_threads(workers)
                .build()
                .unwrap(),
        )
    }

    fn run<T: Send>(&mut self, f: impl FnOnce(&mut ()) -> T + Send) -> T {
        self.0.install(|| f(&mut ()))
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(_: &mut (), first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&mut ()) -> RA + Send,
        B: FnOnce(&mut ()) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        rayon::join(|| first(&mut ()), || second(&mut ()))
    }

    fn for_index<F: Fn(usize) + Sync>(_: &mut (), n: usize, f: &F) {
        (0..n).into_par_iter().for_each(f);
    }

    fn scope<F: Fn(usize) + Sync>(_: &mut (), n: usize, f: &F) {
        rayon::scope(|s| {
            for i in 0..n {
                s.spawn(move |_| f(i));
            }
        });
    }

    fn scope_of_two<A, B>(_: &mut (), first: A, second: B)
    where
        A: FnOnce(&mut ()) + Send,
        B: FnOnce(&mut ()) + Send,
    {
        rayon::scope(|s| {
            s.spawn(|_| first(&mut ()));
            second(&mut ());
        });
    }

    fn enqueue<F: FnOnce() + Send + 'static>(&self, f: F) {
        self.0.spawn(f);
    }
}

fn main() {
    common::drive::<Rayon>();
}
