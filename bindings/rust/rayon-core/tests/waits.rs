//! What a wait runs: only what it waits for, and calls for its own thread.

use rayon_core::{broadcast, join, scope, spawn, yield_now, ThreadPoolBuilder, Yield};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};

#[test]
fn waits_run_no_other_task() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let has_run = Arc::new(AtomicBool::new(false));
    let inside = Arc::clone(&has_run);
    pool.install(move || {
        let task = Arc::clone(&inside);
        spawn(move || task.store(true, SeqCst));
        join(|| (), || ());
        scope(|s| s.spawn(|_| ()));
        assert!(!inside.load(SeqCst), "the task is no part of what was waited for");
        while !inside.load(SeqCst) {
            assert_eq!(yield_now(), Some(Yield::Executed));
        }
    });
    assert!(has_run.load(SeqCst));
}

#[test]
fn stolen_half_may_broadcast_to_its_waiting_owner() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let both = Barrier::new(2);
    let (_, threads) = pool.install(|| {
        let a = || _ = both.wait();
        let b = || {
            both.wait();
            broadcast(|context| context.index())
        };
        join(a, b)
    });
    assert_eq!(threads, [0, 1]);
}

#[test]
fn child_may_broadcast_to_the_thread_that_waits_for_its_scope() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (both, calls) = (Barrier::new(2), AtomicUsize::new(0));
    pool.scope(|s| {
        s.spawn(|_| {
            both.wait();
            broadcast(|_| calls.fetch_add(1, SeqCst));
        });
        both.wait();
    });
    assert_eq!(calls.into_inner(), 2);
}

#[test]
fn pools_of_one_thread_may_call_each_other_at_the_same_time() {
    let pools = [1, 2].map(|_| ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    let (a, b) = (&pools[0], &pools[1]);
    std::thread::scope(|s| {
        for (from, to) in [(a, b), (b, a)] {
            s.spawn(move || {
                for i in 0..100 {
                    assert_eq!(from.install(|| to.install(|| from.install(|| i))), i);
                }
            });
        }
    });
}

#[test]
fn thread_that_was_worker_0_may_join_another_pool() {
    for threads in [1, 2, 3] {
        let builder = || ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
        let pool = builder().build().unwrap();
        assert_eq!(pool.current_thread_index(), Some(0));
        assert!(builder().build().is_err());
        let (a, b) = join(|| 1, || 2);
        assert_eq!(a + b, 3);
        drop(pool);
        assert_eq!(rayon_core::current_thread_index(), None);
    }
}

#[test]
fn caller_outside_runs_nothing_of_the_pool() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for _ in 0..20 {
        let (a, b) = pool.install(|| {
            let here = || (std::thread::current().id(), rayon_core::current_thread_index());
            let busy = || {
                std::thread::sleep(std::time::Duration::from_millis(2));
                here()
            };
            join(busy, here)
        });
        assert_eq!(a, b);
        assert_eq!(a.1, Some(0));
    }
}
