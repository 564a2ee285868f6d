//! The crate's promises: borrowing, order of ends, panics.

use rubato::{Pool, TaskError};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::thread;

fn pools() -> Vec<Pool> {
    [1, 2, 7].into_iter().map(|workers| Pool::new(workers).unwrap()).collect()
}

fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    payload.downcast_ref::<&str>().unwrap_or(&"").to_string()
}

fn sum(numbers: &[u64]) -> u64 {
    if numbers.len() < 4 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = rubato::join(|| sum(left), || sum(right));
    a + b
}

#[test]
fn joins_nest_and_borrow() {
    let numbers: Vec<u64> = (0..10_000).collect();
    for pool in pools() {
        assert_eq!(pool.install(|| sum(&numbers)), 49_995_000);
        assert_eq!(pool.join(|| sum(&numbers[..5_000]), || sum(&numbers[5_000..])), (12_497_500, 37_497_500));
    }
    assert_eq!(sum(&numbers), 49_995_000);
}

#[test]
fn first_half_stays_with_its_caller() {
    let caller = thread::current().id();
    let not_send = std::rc::Rc::new(1);
    let ((id, one), _) = rubato::join(|| (thread::current().id(), *not_send), || ());
    assert_eq!((id, one), (caller, 1));
}

#[test]
fn halves_run_at_the_same_time() {
    let both = Barrier::new(2);
    let pool = Pool::new(2).unwrap();
    pool.install(|| rubato::join(|| both.wait(), || both.wait()));
}

#[test]
fn panic_of_either_half_goes_on() {
    for pool in pools() {
        assert_eq!(panic_text(|| _ = pool.join(|| panic!("first"), || ())), "first");
        assert_eq!(panic_text(|| _ = pool.join(|| (), || panic!("second"))), "second");
        assert_eq!(panic_text(|| _ = pool.join(|| panic!("first"), || panic!("second"))), "first");
    }
}

#[test]
fn panic_waits_for_a_half_that_has_begun() {
    let pool = Pool::new(2).unwrap();
    let (begun, ended) = (Barrier::new(2), AtomicBool::new(false));
    let first = || {
        begun.wait();
        panic!("first")
    };
    let second = || {
        begun.wait();
        thread::yield_now();
        ended.store(true, SeqCst);
    };
    assert_eq!(panic_text(|| _ = pool.install(|| rubato::join::<_, _, (), ()>(first, second))), "first");
    assert!(ended.into_inner());
}

#[test]
fn panic_drops_a_half_that_has_not_begun() {
    let pool = Pool::new(1).unwrap();
    let (dropped, called) = (Arc::new(()), AtomicBool::new(false));
    let held = Arc::clone(&dropped);
    let second = || {
        drop(held);
        called.store(true, SeqCst);
    };
    assert_eq!(panic_text(|| _ = pool.install(|| rubato::join(|| panic!("first"), second))), "first");
    assert_eq!((Arc::strong_count(&dropped), called.into_inner()), (1, false));
}

#[test]
fn scope_waits_for_children_of_children() {
    for pool in pools() {
        let count = AtomicUsize::new(0);
        let value = pool.scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|scope| {
                    count.fetch_add(1, SeqCst);
                    scope.spawn(|_| {
                        count.fetch_add(1, SeqCst);
                    });
                });
            }
            3
        });
        assert_eq!((value, count.into_inner()), (3, 200));
    }
}

#[test]
fn panic_stops_a_scope() {
    for pool in pools() {
        let all = Arc::new(());
        let text = panic_text(|| {
            pool.scope(|scope| {
                for _ in 0..100 {
                    let one = Arc::clone(&all);
                    scope.spawn(move |_| drop(one));
                }
                panic!("body");
            })
        });
        assert_eq!((text.as_str(), Arc::strong_count(&all)), ("body", 1));
        assert_eq!(panic_text(|| pool.scope(|scope| scope.spawn(|_| panic!("child")))), "child");
    }
}

#[test]
fn loop_takes_each_element_once() {
    for pool in pools() {
        let seen: Vec<AtomicUsize> = (0..1_000).map(|_| AtomicUsize::new(0)).collect();
        pool.for_range(10..1_000, 7, |part| {
            assert!(part.len() >= 7 || part.end == 1_000);
            for i in part {
                seen[i].fetch_add(1, SeqCst);
            }
        });
        assert!(seen.iter().enumerate().all(|(i, n)| n.load(SeqCst) == usize::from(i >= 10)));
        pool.for_range(5..5, 0, |_| unreachable!("there is no element"));
    }
}

#[test]
fn panic_of_a_loop_goes_on() {
    for pool in pools() {
        let text = panic_text(|| {
            pool.for_range(0..1_000, 1, |part| {
                if part.contains(&500) {
                    panic!("part")
                }
            })
        });
        assert_eq!(text, "part");
    }
}

#[test]
fn tasks_return_values_and_panics() {
    for pool in pools() {
        let tasks: Vec<_> = (0..100).map(|i| pool.spawn(move || i * 2)).collect();
        let total: i32 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
        assert_eq!(total, 9_900);
        let error = pool.spawn(|| panic!("task")).join().unwrap_err();
        assert!(matches!(error, TaskError::Panicked(payload) if payload.downcast_ref() == Some(&"task")));
        let nested = pool.spawn(|| rubato::spawn(|| 1).join().unwrap() + 1);
        assert_eq!(nested.join().unwrap(), 2);
    }
}

#[test]
fn drop_of_a_pool_waits_for_its_tasks() {
    let count = Arc::new(AtomicUsize::new(0));
    for pool in pools() {
        for _ in 0..50 {
            let count = Arc::clone(&count);
            drop(pool.spawn(move || count.fetch_add(1, SeqCst)));
        }
    }
    assert_eq!(count.load(SeqCst), 150);
}

#[test]
fn pool_that_a_task_of_its_own_drops_ends() {
    let pool = Arc::new(Pool::new(2).unwrap());
    let last = Arc::clone(&pool);
    let gate = Arc::new(Barrier::new(2));
    let task = pool.spawn({
        let gate = Arc::clone(&gate);
        move || {
            gate.wait();
            drop(last);
        }
    });
    drop(pool);
    gate.wait();
    task.join().unwrap();
}

#[test]
fn workers_have_numbers_below_the_size_of_a_pool_without_spares() {
    let pool = Pool::builder().workers(3).spares(0).name("numbers").build().unwrap();
    pool.for_range(0..1_000, 1, |_| assert!(rubato::current_worker().is_some()));
    assert!(pool.install(|| rubato::current_worker().unwrap()) < 3);
    assert_eq!(rubato::current_worker(), None);
    assert!(pool.wait_idle(None));
}
