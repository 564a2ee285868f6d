//! How a closure gets onto a pool, and how a panic gets back.

use rubato_sys as sys;
use rubato_sys::{rb_pool, rb_worker};
use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::{any::Any, ptr, thread};

/// Calls `f`; no panic of it crosses into C.
pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> thread::Result<R> {
    // What the panic leaves behind is seen after it has gone on in the caller, as without a pool.
    panic::catch_unwind(AssertUnwindSafe(f))
}

pub(crate) fn value_or_resume<R>(result: thread::Result<R>) -> R {
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// The first panic of several closures.
#[derive(Default)]
pub(crate) struct FirstPanic {
    is_set: AtomicBool,
    payload: Mutex<Option<Box<dyn Any + Send>>>,
}

impl FirstPanic {
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    pub(crate) fn store(&self, payload: Box<dyn Any + Send>) {
        let mut first = self.payload.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        first.get_or_insert(payload);
        self.is_set.store(true, Ordering::Relaxed);
    }

    pub(crate) fn resume(&self) {
        let first = self.payload.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(payload) = first {
            panic::resume_unwind(payload);
        }
    }
}

type Entry = unsafe extern "C" fn(*mut rb_pool, sys::rb_call_function, *mut c_void) -> i32;

/// Calls `f` by a function of the library that waits for it. Gives it back if it was not called.
unsafe fn call_by<F, R>(entry: Entry, pool: *mut rb_pool, f: F) -> Result<R, F>
where
    F: FnOnce(*mut rb_worker) -> R,
{
    struct Call<F, R> {
        f: Option<F>,
        result: Option<thread::Result<R>>,
    }
    unsafe extern "C" fn run<F, R>(arg: *mut c_void, worker: *mut rb_worker)
    where
        F: FnOnce(*mut rb_worker) -> R,
    {
        // SAFETY: it is the call below, which waits; no other code has it meanwhile.
        let call = unsafe { &mut *arg.cast::<Call<F, R>>() };
        if let Some(f) = call.f.take() {
            call.result = Some(caught(|| f(worker)));
        }
    }
    let mut call = Call { f: Some(f), result: None };
    // SAFETY: the call stays where it is until the library's function has returned.
    unsafe { entry(pool, run::<F, R>, ptr::from_mut(&mut call).cast()) };
    match (call.result, call.f) {
        (Some(result), _) => Ok(value_or_resume(result)),
        (None, Some(f)) => Err(f),
        (None, None) => unreachable!("a call that was begun has a result"),
    }
}

/// Calls `f` on the calling thread, as a member of the pool.
///
/// # Safety
///
/// The pool lives.
pub(crate) unsafe fn as_member<F, R>(pool: *mut rb_pool, f: F) -> R
where
    F: FnOnce(*mut rb_worker) -> R,
{
    // SAFETY: by this function's contract.
    unsafe {
        let worker = sys::rb_current();
        if !worker.is_null() && sys::rb_worker_pool(worker) == pool {
            return f(worker);
        }
        call_by(sys::rb_run, pool, f).unwrap_or_else(|_| panic!("the pool has too many members"))
    }
}

/// Calls `f` on a thread of the pool.
///
/// # Safety
///
/// The pool lives.
pub(crate) unsafe fn on_worker<F, R>(pool: *mut rb_pool, f: F) -> R
where
    F: FnOnce(*mut rb_worker) -> R + Send,
    R: Send,
{
    // SAFETY: by this function's contract.
    unsafe { call_by(sys::rb_call, pool, f) }.unwrap_or_else(|_| panic!("the pool has ended"))
}

/// The pool whose task the calling thread runs, or the global one.
pub(crate) fn current_pool() -> *mut rb_pool {
    // SAFETY: the record is this thread's.
    unsafe {
        let worker = sys::rb_current();
        if !worker.is_null() {
            return sys::rb_worker_pool(worker);
        }
        let mut pool = ptr::null_mut();
        assert_eq!(sys::rb_pool_global(&mut pool), 0, "the global pool cannot be started");
        pool
    }
}
