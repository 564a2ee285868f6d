use crate::call;
use rubato_sys as sys;
use rubato_sys::{rb_latch, rb_pool, rb_task, rb_worker};
use std::any::Any;
use std::cell::UnsafeCell;
use std::error::Error;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::{fmt, ptr, thread};

/// Queues a closure, and returns its result as a [`Task`]. A task that is dropped goes on.
///
/// ```
/// let task = rubato::spawn(|| 6 * 7);
/// assert_eq!(task.join().unwrap(), 42);
/// ```
pub fn spawn<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Task<R> {
    // SAFETY: the pool of the task around the call, or the global one, is there.
    unsafe { spawn_in(call::current_pool(), f) }
}

/// The result of a closure that was spawned.
pub struct Task<R> {
    shared: Arc<Shared<R>>,
}

/// Why there is no result.
#[derive(Debug)]
pub enum TaskError {
    /// The closure panicked.
    Panicked(Box<dyn Any + Send>),
    /// The pool ended before the closure began.
    Cancelled(Cancelled),
}

/// The pool ended before the closure began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pool ended before the task began")
    }
}

impl Error for Cancelled {}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskError::Panicked(_) => f.write_str("the task panicked"),
            TaskError::Cancelled(why) => why.fmt(f),
        }
    }
}

impl Error for TaskError {}

struct Shared<R> {
    latch: UnsafeCell<MaybeUninit<rb_latch>>,
    /// Written before the latch opens, read after it.
    result: UnsafeCell<Option<thread::Result<R>>>,
}

// SAFETY: the latch is for all threads, and orders the accesses to the result.
unsafe impl<R: Send> Send for Shared<R> {}
// SAFETY: as above.
unsafe impl<R: Send> Sync for Shared<R> {}

impl<R> Shared<R> {
    fn latch(&self) -> *mut rb_latch {
        self.latch.get().cast()
    }
}

impl<R> Drop for Shared<R> {
    fn drop(&mut self) {
        // SAFETY: the task has given its reference up, so the latch is open.
        unsafe { sys::rb_latch_destroy(self.latch()) };
    }
}

impl<R> Task<R> {
    /// Waits for the result. A worker leaves its seat to another thread meanwhile.
    pub fn join(self) -> Result<R, TaskError> {
        // SAFETY: the task has written the result before the latch opens, and this is the only reader.
        let result = unsafe {
            sys::rb_latch_wait(self.shared.latch());
            (*self.shared.result.get()).take()
        };
        match result {
            Some(Ok(value)) => Ok(value),
            Some(Err(payload)) => Err(TaskError::Panicked(payload)),
            None => Err(TaskError::Cancelled(Cancelled)),
        }
    }

    /// Whether [`join`](Self::join) would not wait.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the latch is there as long as this object.
        unsafe { sys::rb_latch_is_open(self.shared.latch()) == 1 }
    }
}

impl<R> fmt::Debug for Task<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("is_finished", &self.is_finished()).finish_non_exhaustive()
    }
}

#[repr(C)]
struct Node<F, R> {
    task: rb_task,
    f: F,
    shared: Arc<Shared<R>>,
}

unsafe extern "C" fn run<F, R>(task: *mut rb_task, worker: *mut rb_worker)
where
    F: FnOnce() -> R,
{
    // SAFETY: the task is the first field of a node that comes from Box::into_raw, and runs once.
    unsafe {
        let node = *Box::from_raw(task.cast::<Node<F, R>>());
        if worker.is_null() {
            // A panic of its destructor has nowhere to go.
            drop(call::caught(|| drop(node.f)));
        } else {
            *node.shared.result.get() = Some(call::caught(node.f));
        }
        sys::rb_latch_count_down(node.shared.latch(), 1);
    }
}

/// # Safety
///
/// The pool lives.
pub(crate) unsafe fn spawn_in<F, R>(pool: *mut rb_pool, f: F) -> Task<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let shared = Arc::new(Shared { latch: UnsafeCell::new(MaybeUninit::uninit()), result: UnsafeCell::new(None) });
    // SAFETY: the latch does not move; the node frees itself when it runs, or here if the pool refuses it.
    unsafe {
        if sys::rb_latch_init(shared.latch(), 1) != 0 {
            std::mem::forget(shared); // there is no latch to destroy
            panic!("no memory for a latch");
        }
        let task = rb_task { opaque: [ptr::null_mut(); 4], run: Some(run::<F, R>) };
        let node = Box::into_raw(Box::new(Node { task, f, shared: Arc::clone(&shared) }));
        if sys::rb_enqueue(pool, node.cast(), sys::RB_QUEUE_FIFO) != 0 {
            run::<F, R>(node.cast(), ptr::null_mut());
        }
    }
    Task { shared }
}
