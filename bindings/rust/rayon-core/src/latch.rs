//! The waits that C's functions do not cover: of a thread for work in a pool that is not its own.

use rubato_sys::{rb_run_one, rb_worker};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Counts down to 0, and lets one thread wait for that.
pub(crate) struct CountLatch {
    count: AtomicUsize,
    over: Mutex<bool>,
    changed: Condvar,
}

const SHORTEST_SLEEP: Duration = Duration::from_micros(50);
const LONGEST_SLEEP: Duration = Duration::from_millis(1);

impl CountLatch {
    pub(crate) const fn new(count: usize) -> Self {
        CountLatch { count: AtomicUsize::new(count), over: Mutex::new(false), changed: Condvar::new() }
    }

    /// Only while the count is not 0.
    pub(crate) fn increment(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The last call lets the waiter go.
    ///
    /// # Safety
    ///
    /// The waiter may free the latch before this call returns, so the caller holds no reference to it.
    pub(crate) unsafe fn count_down(this: *const Self) {
        // Pairs with the waiter's lock, and with the other calls: what each did before is seen after the wait.
        // SAFETY: the latch is there until `over` is set and unlocked, which is the last thing that happens here.
        unsafe {
            if (*this).count.fetch_sub(1, Ordering::AcqRel) == 1 {
                let mut over = (*this).over.lock().unwrap();
                *over = true;
                (*this).changed.notify_all();
            }
        }
    }

    /// Whether all has happened. If so, no other thread touches the latch any more.
    fn is_over(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0 && *self.over.lock().unwrap()
    }

    /// Blocks a thread that is in no pool; a worker runs tasks of its own pool meanwhile, so that pools may call each other.
    ///
    /// # Safety
    ///
    /// `worker` is null or the calling thread's record.
    pub(crate) unsafe fn wait(&self, worker: *mut rb_worker) {
        if worker.is_null() {
            let mut over = self.over.lock().unwrap();
            while !*over {
                over = self.changed.wait(over).unwrap();
            }
            return;
        }
        // The library has no call that sleeps until a task comes or a latch is over, so the worker looks for tasks after
        // sleeps that get longer. The end of the wait is not polled.
        let mut sleep = SHORTEST_SLEEP;
        while !self.is_over() {
            // SAFETY: by this function's contract.
            if unsafe { rb_run_one(worker) } == 1 {
                sleep = SHORTEST_SLEEP;
                continue;
            }
            let over = self.over.lock().unwrap();
            if !*over {
                drop(self.changed.wait_timeout(over, sleep).unwrap());
                sleep = (sleep * 2).min(LONGEST_SLEEP);
            }
        }
    }
}
