use crate::job::{self, Order};
use crate::registry::{self, Registry};
use crate::unwind;
use rubato_sys::rb_pool;
use std::ptr;

/// Queues a closure in the caller's pool, or from outside in the global one, and does not wait.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send(1).unwrap());
/// assert_eq!(receiver.recv(), Ok(1));
/// ```
///
/// A thread of the pool runs the closures that it has spawned in the reverse order; another thread that takes them begins with
/// the oldest. A panic goes to the pool's panic handler.
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_here(Order::Lifo, func)
}

/// [`spawn()`], but a thread runs such closures in the order in which it has spawned them.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_here(Order::Fifo, func)
}

fn spawn_here<F>(order: Order, func: F)
where
    F: FnOnce() + Send + 'static,
{
    // SAFETY: the thread is in its pool until this function has returned.
    unsafe {
        let here = registry::current();
        spawn_on(here.pool, here.registry, order, func)
    }
}

/// # Safety
///
/// The pool lives, and `registry` is its own.
pub(crate) unsafe fn spawn_on<F>(pool: *mut rb_pool, registry: Option<&Registry>, order: Order, func: F)
where
    F: FnOnce() + Send + 'static,
{
    // A registry outlives the tasks of its pool.
    let known = Known(registry.map_or(ptr::null(), ptr::from_ref));
    let body = move || {
        let known = known;
        if let Err(payload) = unwind::halt_unwinding(func) {
            known.handle_panic(payload);
        }
    };
    // SAFETY: by this function's contract.
    unsafe { job::spawn(pool, order, body) }
}

/// The registry of the pool in which a task runs; null for a pool of C++ code.
#[derive(Clone, Copy)]
pub(crate) struct Known(pub(crate) *const Registry);

// SAFETY: a Registry is Sync.
unsafe impl Send for Known {}
// SAFETY: a Registry is Sync.
unsafe impl Sync for Known {}

impl Known {
    pub(crate) fn handle_panic(self, payload: Box<dyn std::any::Any + Send>) {
        // SAFETY: called by a task of its pool, which is not over before that.
        match unsafe { self.0.as_ref() } {
            Some(registry) => registry.handle_panic(payload),
            None => unwind::abort("a closure panicked that no call waits for, in a pool without a panic handler"),
        }
    }
}
