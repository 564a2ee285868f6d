//! Scopes: children from all kinds of places.

use rayon_core::{join, scope, scope_fifo, spawn, yield_now, Scope, ThreadPoolBuilder};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

const COUNTS: [usize; 4] = [1, 2, 5, 16];

fn on_pools(f: impl Fn() + Sync) {
    for threads in COUNTS {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&f);
    }
}

fn tree<'scope>(scope: &Scope<'scope>, depth: usize, count: &'scope AtomicUsize) {
    count.fetch_add(1, SeqCst);
    if depth > 0 {
        scope.spawn(move |scope| tree(scope, depth - 1, count));
        scope.spawn(move |scope| tree(scope, depth - 1, count));
    }
}

#[test]
fn children_of_children_all_run() {
    on_pools(|| {
        let count = AtomicUsize::new(0);
        scope(|scope| tree(scope, 12, &count));
        assert_eq!(count.into_inner(), (1 << 13) - 1);
    });
}

#[test]
fn halves_of_a_join_spawn() {
    fn halves<'scope>(scope: &Scope<'scope>, depth: usize, count: &'scope AtomicUsize) {
        scope.spawn(move |_| {
            count.fetch_add(1, SeqCst);
        });
        if depth > 0 {
            join(|| halves(scope, depth - 1, count), || halves(scope, depth - 1, count));
            scope.spawn(move |_| {
                count.fetch_add(1, SeqCst);
            });
        }
    }
    on_pools(|| {
        let count = AtomicUsize::new(0);
        scope(|scope| {
            halves(scope, 9, &count);
            scope.spawn(|scope| halves(scope, 9, &count));
        });
        assert_eq!(count.into_inner(), 2 * ((1 << 10) - 1 + (1 << 9) - 1));
    });
}

#[test]
fn an_inner_scope_spawns_into_the_outer_one() {
    on_pools(|| {
        let outer_children = AtomicUsize::new(0);
        scope(|outer| {
            for _ in 0..50 {
                let inner_children = AtomicUsize::new(0);
                scope(|inner| {
                    for _ in 0..10 {
                        outer.spawn(|_| {
                            outer_children.fetch_add(1, SeqCst);
                        });
                        inner.spawn(|_| {
                            outer.spawn(|_| {
                                outer_children.fetch_add(1, SeqCst);
                            });
                            inner_children.fetch_add(1, SeqCst);
                        });
                    }
                });
                assert_eq!(inner_children.into_inner(), 10);
                scope_fifo(|inner| inner.spawn_fifo(|_| outer.spawn(|_| ())));
            }
        });
        assert_eq!(outer_children.into_inner(), 1000);
    });
}

#[test]
fn a_long_line_of_children_needs_no_stack() {
    fn next<'scope>(scope: &Scope<'scope>, left: usize, count: &'scope AtomicUsize) {
        count.fetch_add(1, SeqCst);
        if left > 0 {
            scope.spawn(move |scope| next(scope, left - 1, count));
        }
    }
    on_pools(|| {
        let count = AtomicUsize::new(0);
        scope(|scope| next(scope, 200_000, &count));
        assert_eq!(count.into_inner(), 200_001);
    });
}

#[test]
fn many_children() {
    on_pools(|| {
        let count = AtomicUsize::new(0);
        scope(|scope| {
            for _ in 0..300_000 {
                scope.spawn(|_| {
                    count.fetch_add(1, SeqCst);
                });
            }
        });
        assert_eq!(count.into_inner(), 300_000);
    });
}

#[test]
fn a_panic_of_a_child_waits_for_the_others() {
    on_pools(|| {
        let count = AtomicUsize::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            scope(|scope| {
                for i in 0..100 {
                    let count = &count;
                    scope.spawn(move |scope| {
                        scope.spawn(|_| {
                            count.fetch_add(1, SeqCst);
                        });
                        assert!(i % 10 != 3, "planned");
                    });
                }
                panic!("planned, of the body");
            })
        }));
        assert!(result.is_err());
        assert_eq!(count.into_inner(), 100);
        assert_eq!(join(|| 1, || 2), (1, 2)); // the chain is in order
    });
}

#[test]
fn a_body_runs_other_tasks() {
    on_pools(|| {
        let children = AtomicUsize::new(0);
        let tasks = std::sync::Arc::new(AtomicUsize::new(0));
        scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|_| {
                    children.fetch_add(1, SeqCst);
                });
                let counted = std::sync::Arc::clone(&tasks);
                spawn(move || {
                    join(|| (), || ());
                    counted.fetch_add(1, SeqCst);
                });
                yield_now();
            }
            while tasks.load(SeqCst) < 20 {
                yield_now();
            }
        });
        assert_eq!(children.into_inner(), 20);
    });
}

#[test]
fn a_thread_from_outside_spawns_into_an_open_scope() {
    on_pools(|| {
        let count = AtomicUsize::new(0);
        scope(|scope| {
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    for _ in 0..100 {
                        scope.spawn(|_| {
                            count.fetch_add(1, SeqCst);
                        });
                    }
                });
            });
        });
        assert_eq!(count.into_inner(), 100);
    });
}

#[test]
fn a_thief_takes_the_child_of_a_body_that_goes_on() {
    for threads in [2, 5] {
        ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let ran = AtomicBool::new(false);
            scope(|scope| {
                scope.spawn(|_| ran.store(true, SeqCst));
                while !ran.load(SeqCst) {
                    std::hint::spin_loop();
                }
            });
        });
    }
}

/// A child of an inner scope begins the outer one's children, and ends before they do.
#[test]
fn regression_a_child_of_an_inner_scope_spawns_first_into_the_outer_one() {
    on_pools(|| {
        let count = AtomicUsize::new(0);
        scope(|outer| {
            scope_fifo(|inner| {
                inner.spawn_fifo(|_| {
                    outer.spawn(|_| {
                        count.fetch_add(1, SeqCst);
                    });
                });
            });
        });
        assert_eq!(count.into_inner(), 1);
    });
}

#[test]
fn regression_a_yield_runs_the_children_of_an_open_scope() {
    on_pools(|| {
        let ran = AtomicBool::new(false);
        scope(|scope| {
            scope.spawn(|_| ran.store(true, SeqCst));
            while !ran.load(SeqCst) {
                yield_now();
            }
        });
    });
}
