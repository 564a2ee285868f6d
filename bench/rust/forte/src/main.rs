//! Forte: `join` and `scope` on a worker that is passed down, and `spawn` from outside.

use common::Runtime;
use forte::{ThreadPool, Worker};

static POOL: ThreadPool = ThreadPool::new();

struct Forte;

impl Runtime for Forte {
    const NAME: &'static str = "forte";
    const SCOPES: bool = true;
    const ENQUEUES: bool = true;
    type Fork<'a> = &'a Worker;

    fn new(workers: usize, outside: bool) -> Self {
        POOL.resize_to(if outside { workers } else { workers - 1 }); // the caller computes too
        Forte
    }

    fn run<T: Send>(&mut self, f: impl FnOnce(&mut &Worker) -> T + Send) -> T {
        POOL.with_worker(|mut worker| f(&mut worker))
    }

    #[inline(always)]
    fn join<A, B, RA, RB>(fork: &mut &Worker, first: A, second: B) -> (RA, RB)
    where
        A: for<'x> FnOnce(&mut &'x Worker) -> RA + Send,
        B: for<'x> FnOnce(&mut &'x Worker) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        // the caller runs the second closure and leaves the first to any thread that wants it
        let (b, a) = fork.join(|mut w| second(&mut w), |mut w| first(&mut w));
        (a, b)
    }

    fn scope<F: Fn(usize) + Sync>(fork: &mut &Worker, n: usize, f: &F) {
        fork.scope(|s| {
            for i in 0..n {
                s.spawn(move |_: &Worker| f(i));
            }
        });
    }

    fn scope_of_two<A, B>(fork: &mut &Worker, first: A, second: B)
    where
        A: for<'x> FnOnce(&mut &'x Worker) + Send,
        B: for<'x> FnOnce(&mut &'x Worker) + Send,
    {
        let mut worker: &Worker = fork;
        worker.scope(|s| {
            s.spawn(|mut w: &Worker| first(&mut w));
            second(&mut worker);
        });
    }

    fn enqueue<F: FnOnce() + Send + 'static>(&self, f: F) {
        POOL.spawn(move |_: &Worker| f());
    }
}

fn main() {
    common::drive::<Forte>();
}
