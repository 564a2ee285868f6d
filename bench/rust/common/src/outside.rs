//! Work from outside the pool, and no work at all: see `scenarios/enqueue.hpp`, `wake.hpp` and `idle.hpp`.

use crate::fork_join::warm_up;
use crate::measure::*;
use crate::Runtime;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

pub fn enqueue<R: Runtime>(r: &R, tasks: u64) -> Measurement {
    static LEFT: AtomicU64 = AtomicU64::new(0);
    static WAITER: OnceLock<Thread> = OnceLock::new();
    WAITER.get_or_init(std::thread::current);
    let all = |n: u64| {
        LEFT.store(n, SeqCst);
        for _ in 0..n {
            r.enqueue(|| {
                if LEFT.fetch_sub(1, AcqRel) == 1 {
                    WAITER.get().unwrap().unpark();
                }
            });
        }
        while LEFT.load(Acquire) != 0 {
            std::thread::park();
        }
        0
    };
    all(10_000);
    timed(tasks as f64, || all(tasks))
}

/// A thread that sleeps on a word and notes when it was woken.
#[derive(Default)]
struct FutexPeer {
    word: AtomicU32,
    woken_at: AtomicU64,
    stop: AtomicBool,
}

impl FutexPeer {
    fn call(&self, operation: libc::c_int, value: u32) {
        let none = std::ptr::null::<libc::timespec>();
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.word.as_ptr(),
                operation,
                value,
                none,
                none,
                0,
            )
        };
    }

    fn sleep_and_note(&self) {
        let mut seen = 0;
        while !self.stop.load(SeqCst) {
            while self.word.load(SeqCst) == seen {
                self.call(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG, seen);
            }
            self.woken_at.store(now_ns(), SeqCst);
            seen += 1;
        }
    }

    fn wake(&self) {
        self.word.fetch_add(1, SeqCst);
        self.call(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1);
    }
}

pub fn wake<R: Runtime>(r: &R, samples: u64) -> Measurement {
    const REST: u64 = 3_000_000;
    const WARM_UPS: u64 = 10;
    static STARTED_AT: AtomicU64 = AtomicU64::new(0);
    let peer = Arc::new(FutexPeer::default());
    let sleeper = std::thread::spawn({
        let peer = peer.clone();
        move || peer.sleep_and_note()
    });
    let (mut pool, mut futex) = (Vec::new(), Vec::new());
    let cpu = cpu_ns();
    for i in 0..samples + WARM_UPS {
        sleep_ns(REST);
        let enqueued = now_ns();
        r.enqueue(|| STARTED_AT.store(now_ns(), SeqCst));
        sleep_ns(REST);
        let called = now_ns();
        peer.wake();
        sleep_ns(REST);
        while peer.woken_at.load(SeqCst) < called || STARTED_AT.load(SeqCst) < enqueued {
            sleep_ns(REST);
        }
        if i >= WARM_UPS {
            pool.push((STARTED_AT.load(SeqCst) - enqueued) as f64);
            futex.push((peer.woken_at.load(SeqCst) - called) as f64);
        }
    }
    let used = cpu_ns() - cpu;
    peer.stop.store(true, SeqCst);
    peer.wake();
    sleeper.join().unwrap();
    Measurement {
        ns: quantile(&pool, 0.5),
        cpu_ns: used as f64 / samples as f64,
        checksum: samples,
        extra: vec![
            ("p99_ns", quantile(&pool, 0.99)),
            ("futex_p50_ns", quantile(&futex, 0.5)),
            ("futex_p99_ns", quantile(&futex, 0.99)),
        ],
    }
}

/// Context switches so far of every thread but the main one, by thread.
fn context_switches() -> HashMap<String, u64> {
    let own = std::process::id().to_string();
    let mut switches = HashMap::new();
    for task in std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let id = task.file_name().to_string_lossy().into_owned();
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else {
            continue;
        };
        let lines = status
            .lines()
            .filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
        let count = lines.filter_map(|(_, n)| n.trim().parse::<u64>().ok()).sum();
        if id != own {
            switches.insert(id, count);
        }
    }
    switches
}

pub fn idle<R: Runtime>(r: &mut R, milliseconds: u64) -> Measurement {
    warm_up(r);
    sleep_ns(3_000_000);
    let before = context_switches();
    let cpu = cpu_ns();
    sleep_ns(milliseconds * 1_000_000);
    let used = (cpu_ns() - cpu) as f64;
    let woken: u64 = context_switches()
        .iter()
        .map(|(id, n)| n - before.get(id).copied().unwrap_or(0))
        .sum();
    Measurement {
        ns: used,
        cpu_ns: used,
        checksum: 0,
        extra: vec![("switches", woken as f64)],
    }
}
