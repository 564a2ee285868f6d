use crate::broadcast::{broadcast_on, spawn_broadcast_on, BroadcastContext};
use crate::job::Order;
use crate::join::join;
use crate::registry::{self, Registry};
use crate::scope::{in_place_scope_in, Scope, ScopeFifo};
use crate::spawn::{spawn_on, Known};
use crate::{scope, scope_fifo, unwind};
use rubato_sys as sys;
use rubato_sys::rb_worker;
use std::error::Error;
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// The largest number of threads that a pool may have.
pub fn max_num_threads() -> usize {
    // Rubato counts threads in 16 bits.
    0xffff
}

/// The number of threads of the caller's pool, or outside any of the global one.
pub fn current_num_threads() -> usize {
    // SAFETY: the thread is in its pool until this function has returned.
    unsafe {
        let here = registry::current();
        here.registry.map_or_else(|| sys::rb_pool_size(here.pool).max(1) as usize, Registry::num_threads)
    }
}

/// The index of the calling thread in its pool; `None` outside any.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    // SAFETY: the record is this thread's.
    unsafe { sys::rb_current().as_ref().map(|worker| sys::rb_worker_number(worker) as usize) }
}

/// Whether the calling thread has spawned closures that no thread has begun; `None` outside any pool. Halves of joins and children of
/// scopes are not counted.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    // SAFETY: the record is this thread's.
    unsafe {
        let worker = sys::rb_current();
        if worker.is_null() {
            return None;
        }
        let home = registry::own_home(sys::rb_worker_pool(worker));
        Some(home.is_some_and(|home| !home.is_empty()))
    }
}

/// What a call of [`yield_now()`] or [`yield_local()`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It ran a task.
    Executed,
    /// There was none.
    Idle,
}

/// Runs one task of the caller's pool, if one is ready; `None` outside any pool.
///
/// The task may be any. The caller must not hold a lock that a task may want.
pub fn yield_now() -> Option<Yield> {
    // SAFETY: the record is this thread's.
    unsafe { sys::rb_current().as_mut().map(|worker| run_one(worker)) }
}

/// Like [`yield_now()`], but a closure that the calling thread has spawned comes first.
pub fn yield_local() -> Option<Yield> {
    // SAFETY: the record is this thread's.
    unsafe {
        let worker = sys::rb_current();
        if worker.is_null() {
            return None;
        }
        let home = registry::own_home(sys::rb_worker_pool(worker));
        if home.is_some_and(|home| home.run_one()) {
            return Some(Yield::Executed);
        }
        Some(run_one(worker))
    }
}

unsafe fn run_one(worker: *mut rb_worker) -> Yield {
    // SAFETY: the caller passes its own record.
    match unsafe { sys::rb_run_one(worker) } {
        1 => Yield::Executed,
        _ => Yield::Idle,
    }
}

/// A pool of its own.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// let sum: i32 = pool.install(|| {
///     let (a, b) = rayon_core::join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum, 3);
/// ```
///
/// When it is dropped, its threads end as soon as what is queued, and what that spawns, has run. The drop does not wait for them.
pub struct ThreadPool {
    pub(crate) registry: Arc<Registry>,
}

impl ThreadPool {
    /// See `ThreadPoolBuilder::build`.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }

    /// Calls a closure on a thread of the pool, and waits. [`join()`] and the others use this pool there. A thread of the pool
    /// calls it itself.
    ///
    /// A thread of another pool runs tasks of that one while it waits, so that pools may call each other.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.in_worker(|_, _| op())
    }

    /// [`broadcast()`](crate::broadcast) in this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        // SAFETY: this object keeps the pool.
        unsafe { broadcast_on(self.registry.pool(), sys::rb_current(), &op) }
    }

    /// The number of threads.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// The index of the calling thread; `None` if it is not in this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        // SAFETY: the record is the calling thread's.
        self.own_worker().map(|worker| unsafe { sys::rb_worker_number(worker) } as usize)
    }

    /// Whether the calling thread has spawned closures that no thread has begun; `None` if it is not in this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.own_worker()?;
        current_thread_has_pending_tasks()
    }

    /// [`join()`] in this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// [`scope()`](crate::scope) in this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// [`scope_fifo()`](crate::scope_fifo) in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// [`in_place_scope()`](crate::in_place_scope) whose children run in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        // SAFETY: this object keeps the pool.
        unsafe { in_place_scope_in(self.registry.pool(), sys::rb_current(), Order::Lifo, |base| op(Scope::of(base))) }
    }

    /// [`in_place_scope_fifo()`](crate::in_place_scope_fifo) whose children run in this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        // SAFETY: this object keeps the pool.
        unsafe {
            in_place_scope_in(self.registry.pool(), sys::rb_current(), Order::Fifo, |base| op(ScopeFifo::of(base)))
        }
    }

    /// [`spawn()`](crate::spawn) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        // SAFETY: this object keeps the pool.
        unsafe { spawn_on(self.registry.pool(), Some(&self.registry), Order::Lifo, op) }
    }

    /// [`spawn_fifo()`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        // SAFETY: this object keeps the pool.
        unsafe { spawn_on(self.registry.pool(), Some(&self.registry), Order::Fifo, op) }
    }

    /// [`spawn_broadcast()`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        let known = Known(Arc::as_ptr(&self.registry));
        // SAFETY: this object keeps the pool.
        unsafe {
            spawn_broadcast_on(self.registry.pool(), move |context| {
                if let Err(payload) = unwind::halt_unwinding(|| op(context)) {
                    known.handle_panic(payload);
                }
            });
        }
    }

    /// [`yield_now()`] in this pool; `None` if the calling thread is not in it.
    pub fn yield_now(&self) -> Option<Yield> {
        self.own_worker()?;
        yield_now()
    }

    /// [`yield_local()`] in this pool; `None` if the calling thread is not in it.
    pub fn yield_local(&self) -> Option<Yield> {
        self.own_worker()?;
        yield_local()
    }

    /// The calling thread's record, if it is in this pool.
    #[inline]
    fn own_worker(&self) -> Option<*mut rb_worker> {
        // SAFETY: the record is the calling thread's.
        unsafe {
            let worker = sys::rb_current();
            (!worker.is_null() && sys::rb_worker_pool(worker) == self.registry.pool()).then_some(worker)
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.terminate();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &ptr::from_ref(&*self.registry))
            .finish()
    }
}
