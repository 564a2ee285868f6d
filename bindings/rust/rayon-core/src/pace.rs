//! Whether a join is worth a wake.
//!
//! A fork of Rubato's wakes no thread: those that are awake find it, the others within half a millisecond. A join in which a
//! thread has no other job that waits for a thief is the whole of a loop or of a recursion. If the last such join of the thread
//! took long, this one wakes a thread for its second half.

use rubato_sys::{rb_notify, rb_worker};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Some times what a wake costs.
const WORTH_A_WAKE: Duration = Duration::from_micros(30);

thread_local! {
    static LAST_WAS_LONG: Cell<bool> = const { Cell::new(false) };
}

/// Measures a join from its fork on.
pub(crate) struct Pace(Instant);

impl Pace {
    /// # Safety
    ///
    /// `worker` is the calling thread's record.
    pub(crate) unsafe fn begin(worker: *mut rb_worker) -> Self {
        if LAST_WAS_LONG.get() {
            // SAFETY: by this function's contract.
            unsafe { rb_notify(worker) };
        }
        Pace(Instant::now())
    }

    pub(crate) fn end(self) {
        LAST_WAS_LONG.set(self.0.elapsed() >= WORTH_A_WAKE);
    }
}
