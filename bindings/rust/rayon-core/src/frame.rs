//! The children that a thread spawns into a scope and keeps, as a join keeps its second half.
//!
//! The body of a scope runs in a *frame*. A child that the same thread spawns there becomes a job in the thread's chain, where
//! thieves take the oldest. When the body has ended, the thread takes its jobs back, the newest first. A child that it runs
//! then is in the same frame: it adds its own children there, so the stack does not grow. A thief runs a child in a frame of
//! its own.
//!
//! A chain is a stack: what is pushed last must be popped first. So a child is kept only if the chain ends where the frame's
//! last job is. In the first half of a join it does not, and the child goes to the library's scope instead. Code that a thread
//! runs while it waits is in no frame.

use rubato_sys::{rb_current, rb_job, rb_pop_inline, rb_push_inline, rb_top_inline, rb_worker, RB_NOT_PUSHED};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;

thread_local! {
    static FRAME: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

pub(crate) struct Frame {
    scope: *const c_void,
    worker: *mut rb_worker,
    /// The end of the chain, if nothing lies behind this frame's jobs.
    top: Cell<*mut c_void>,
    newest: Cell<*mut Fork>,
}

/// The beginning of a kept child, which lies in the heap.
#[repr(C)]
pub(crate) struct Fork {
    job: rb_job,
    older: *mut Fork,
    /// What the push has returned.
    how: c_int,
    /// Calls the body, if the first argument is true, and frees the child.
    finish: unsafe fn(child: *mut Fork, calls: bool),
}

impl Fork {
    /// `run` is for thieves.
    pub(crate) fn new(
        run: unsafe extern "C" fn(*mut rb_job, *mut rb_worker),
        finish: unsafe fn(*mut Fork, bool),
    ) -> Self {
        let job = rb_job { opaque: [ptr::null_mut(); 6], run: Some(run) };
        Fork { job, older: ptr::null_mut(), how: RB_NOT_PUSHED, finish }
    }
}

/// In no frame until it is dropped.
pub(crate) struct Outside(*const Frame);

impl Outside {
    pub(crate) fn enter() -> Self {
        Outside(FRAME.replace(ptr::null()))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        FRAME.set(self.0);
    }
}

impl Frame {
    /// Calls `body` in a new frame of the scope, and then all children that the frame keeps. Neither `body` nor a child panics.
    ///
    /// # Safety
    ///
    /// `worker` is the calling thread's record, and the scope outlives the call.
    pub(crate) unsafe fn run<R>(scope: *const c_void, worker: *mut rb_worker, body: impl FnOnce() -> R) -> R {
        // SAFETY: by this function's contract.
        let top = unsafe { rb_top_inline(worker) };
        let frame = Frame { scope, worker, top: Cell::new(top), newest: Cell::new(ptr::null_mut()) };
        let _outer = Outside(FRAME.replace(&frame));
        let result = body();
        // SAFETY: the jobs were pushed by this thread, and nothing lies behind them.
        unsafe { frame.take_back_all() };
        result
    }

    /// # Safety
    ///
    /// Nothing lies in the chain behind this frame's jobs.
    unsafe fn take_back_all(&self) {
        while let Some(newest) = ptr::NonNull::new(self.newest.get()) {
            let child = newest.as_ptr();
            // SAFETY: a kept child is freed by finish() alone.
            unsafe {
                self.newest.set((*child).older);
                let is_back = rb_pop_inline(self.worker, ptr::addr_of_mut!((*child).job), (*child).how) == 1;
                self.top.set(rb_top_inline(self.worker));
                ((*child).finish)(child, is_back);
            }
        }
    }

    /// Keeps the child for the calling thread. False: it cannot.
    ///
    /// # Safety
    ///
    /// The child is new, and the caller gives it up if this returns true.
    pub(crate) unsafe fn keep(scope: *const c_void, child: *mut Fork) -> bool {
        // SAFETY: a frame outlives the code that runs in it.
        unsafe {
            let Some(frame) = FRAME.get().as_ref() else { return false };
            if frame.scope != scope || rb_current() != frame.worker || rb_top_inline(frame.worker) != frame.top.get() {
                return false;
            }
            let how = rb_push_inline(frame.worker, ptr::addr_of_mut!((*child).job));
            if how == RB_NOT_PUSHED {
                return false;
            }
            // The owner's fields: a thief reads the body only.
            (*child).how = how;
            (*child).older = frame.newest.replace(child);
            frame.top.set(rb_top_inline(frame.worker));
            true
        }
    }
}
