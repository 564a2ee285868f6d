//! `rubato/c/inline.h`: the push and the pop of a job in the caller's own code.

use crate::{rb_job, rb_pop, rb_push, rb_worker};
use core::ffi::{c_int, c_void};
use core::ptr::addr_of_mut;
use core::sync::atomic::{compiler_fence, AtomicPtr, AtomicUsize, Ordering};

/// The layout that this file knows; [`rb_inline_version`] tells that of the library.
pub const RB_INLINE_VERSION: u32 = 1;

extern "C" {
    pub fn rb_inline_version() -> u32;
    /// The first word of a job.
    static rb_job_entry: *mut c_void;
    fn rb_pop_settle(worker: *mut rb_worker, job: *mut rb_job) -> c_int;
}

type Cell = *mut AtomicUsize;

const TOP: usize = 64;
const BASE: usize = 72;
const LIMIT: usize = 128;
const HEAD: usize = 136;

pub const RB_NOT_PUSHED: c_int = 0;
pub const RB_PUSHED: c_int = 1;
pub const RB_PUSHED_BY_LIBRARY: c_int = 2;

/// The cell behind the newest job; the owner's alone.
#[inline(always)]
unsafe fn top_of(worker: *mut rb_worker) -> *mut Cell {
    // SAFETY: a field of the worker's record.
    unsafe { worker.cast::<u8>().add(TOP).cast() }
}

/// Whether the calling thread's chain is empty.
///
/// # Safety
///
/// `worker` is the calling thread's record.
#[inline(always)]
pub unsafe fn rb_is_empty_inline(worker: *mut rb_worker) -> bool {
    // SAFETY: by this function's contract; both are the owner's fields.
    unsafe { *top_of(worker) == worker.cast::<u8>().add(BASE).cast::<Cell>().read() }
}

#[inline(always)]
unsafe fn load(worker: *mut rb_worker, offset: usize, order: Ordering) -> Cell {
    // SAFETY: a field of the worker's record, which other threads write atomically.
    unsafe { (*worker.cast::<u8>().add(offset).cast::<AtomicPtr<AtomicUsize>>()).load(order) }
}

/// Makes the job available to thieves. `RB_NOT_PUSHED`: there are too many, and the caller runs it itself.
///
/// # Safety
///
/// `worker` is the calling thread's record; the job, whose `run` is set, stays where it is until `rb_pop_inline`.
#[inline(always)]
pub unsafe fn rb_push_inline(worker: *mut rb_worker, job: *mut rb_job) -> c_int {
    // SAFETY: by this function's contract; the cells below the limit are there.
    unsafe {
        let top = top_of(worker);
        let cell = *top;
        if cell >= load(worker, LIMIT, Ordering::Relaxed) {
            return if rb_push(worker, job) == 0 { RB_PUSHED_BY_LIBRARY } else { RB_NOT_PUSHED };
        }
        addr_of_mut!((*job).opaque).cast::<*mut c_void>().write(rb_job_entry);
        // Release: pairs with the thief's load of the cell, so that the thief sees the job.
        (*cell).store(job as usize, Ordering::Release);
        *top = cell.add(1);
        RB_PUSHED
    }
}

/// Takes back the newest job. `how`: what `rb_push_inline` has returned.
///
/// # Safety
///
/// `worker` is the calling thread's record, and the job the newest that it has pushed.
#[inline(always)]
pub unsafe fn rb_pop_inline(worker: *mut rb_worker, job: *mut rb_job, how: c_int) -> c_int {
    // SAFETY: by this function's contract.
    unsafe {
        if how != RB_PUSHED {
            return rb_pop(worker, job);
        }
        let top = top_of(worker);
        let cell = (*top).sub(1);
        (*cell).store(0, Ordering::Relaxed);
        *top = cell;
        // For the compiler: the thief has a barrier for both threads.
        compiler_fence(Ordering::SeqCst);
        // Acquire: pairs with the thief's store of `head`, which comes after it has looked at the cell.
        if load(worker, HEAD, Ordering::Acquire) <= cell {
            return 1;
        }
        rb_pop_settle(worker, job)
    }
}
