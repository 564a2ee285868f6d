use crate::broadcast::{spawn_broadcast_on, BroadcastContext};
use crate::job::{self, Order};
use crate::latch::CountLatch;
use crate::registry;
use crate::unwind;
use rubato_sys as sys;
use rubato_sys::{rb_child, rb_pool, rb_scope, rb_worker};
use std::any::Any;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex};
use std::{fmt, ptr};

/// A scope whose newest children a thread runs first.
#[repr(transparent)]
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// A scope whose oldest children a thread runs first.
#[repr(transparent)]
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
}

/// Calls a closure on a thread of the caller's pool, or from outside of the global one, waits for all children that it spawns into the
/// scope and that they spawn, and returns its result.
///
/// ```
/// let mut halves = (0, 0);
/// rayon_core::scope(|scope| {
///     scope.spawn(|_| halves.0 = (0..50).sum());
///     scope.spawn(|_| halves.1 = (50..100).sum());
/// });
/// assert_eq!(halves.0 + halves.1, 4950);
/// ```
///
/// While the caller waits, it runs only children of this scope. [`join()`](crate::join) is cheaper.
///
/// # Panics
///
/// All children run in any case. Then the first panic of the closure or a child goes on.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    // SAFETY: the record belongs to this thread, which stays in the pool until the closure has returned.
    registry::in_worker(|worker, _| unsafe {
        in_place_scope_in(sys::rb_worker_pool(worker), worker, Order::Lifo, |base| op(Scope::of(base)))
    })
}

/// [`scope()`] whose oldest children a thread runs first.
///
/// ```
/// let count = std::sync::atomic::AtomicU32::new(0);
/// rayon_core::scope_fifo(|scope| {
///     for _ in 0..10 {
///         scope.spawn_fifo(|_| { count.fetch_add(1, std::sync::atomic::Ordering::Relaxed); });
///     }
/// });
/// assert_eq!(count.into_inner(), 10);
/// ```
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    // SAFETY: as in scope().
    registry::in_worker(|worker, _| unsafe {
        in_place_scope_in(sys::rb_worker_pool(worker), worker, Order::Fifo, |base| op(ScopeFifo::of(base)))
    })
}

/// [`scope()`] that calls the closure on the calling thread, so that it need not be `Send`. The children run in the caller's pool, or from
/// outside in the global one.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    // SAFETY: the thread is in its pool until this function has returned.
    unsafe {
        let here = registry::current();
        in_place_scope_in(here.pool, here.worker, Order::Lifo, |base| op(Scope::of(base)))
    }
}

/// [`in_place_scope()`] whose oldest children a thread runs first.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    // SAFETY: the thread is in its pool until this function has returned.
    unsafe {
        let here = registry::current();
        in_place_scope_in(here.pool, here.worker, Order::Fifo, |base| op(ScopeFifo::of(base)))
    }
}

impl<'scope> Scope<'scope> {
    pub(crate) fn of<'a>(base: &'a ScopeBase<'scope>) -> &'a Self {
        // SAFETY: the types have one layout.
        unsafe { &*ptr::from_ref(base).cast() }
    }

    /// Queues a child, which may borrow what outlives the scope, and may spawn children too.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.base.spawn(Order::Lifo, |base| body(Scope::of(base)));
    }

    /// Calls a closure on each thread of the pool; the scope waits for the calls.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.base.spawn_broadcast(move |base, context| body(Scope::of(base), context));
    }
}

impl<'scope> ScopeFifo<'scope> {
    pub(crate) fn of<'a>(base: &'a ScopeBase<'scope>) -> &'a Self {
        // SAFETY: the types have one layout.
        unsafe { &*ptr::from_ref(base).cast() }
    }

    /// Queues a child, which may borrow what outlives the scope, and may spawn children too.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        self.base.spawn(Order::Fifo, |base| body(ScopeFifo::of(base)));
    }

    /// Calls a closure on each thread of the pool; the scope waits for the calls.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        self.base.spawn_broadcast(move |base, context| body(ScopeFifo::of(base), context));
    }
}

/// What both kinds of scope are.
pub(crate) struct ScopeBase<'scope> {
    /// The library's scope, if a worker of the pool has opened this one.
    raw: UnsafeCell<MaybeUninit<rb_scope>>,
    is_raw: bool,
    pool: *mut rb_pool,
    /// Otherwise its children are queued tasks, and counted here, with 1 for the scope itself.
    children: CountLatch,
    /// Calls on every thread are no children of the library's scope.
    has_broadcasts: AtomicBool,
    broadcasts: Mutex<Vec<Arc<CountLatch>>>,
    /// The first one.
    panic: AtomicPtr<Box<dyn Any + Send>>,
    /// The children, which are moved to other threads, but not shared. Invariant in 'scope.
    #[allow(clippy::type_complexity)]
    _marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

// SAFETY: rb_scope_spawn() is for any thread, and so is all else that &self gives access to.
unsafe impl Sync for ScopeBase<'_> {}
// SAFETY: as above. A scope stays where it is.
unsafe impl Send for ScopeBase<'_> {}

/// A scope that a child refers to. It outlives the child.
struct ScopeRef<'scope>(*const ScopeBase<'scope>);

// SAFETY: a scope is Sync.
unsafe impl Send for ScopeRef<'_> {}
// SAFETY: a scope is Sync.
unsafe impl Sync for ScopeRef<'_> {}

impl<'scope> ScopeRef<'scope> {
    /// # Safety
    ///
    /// While the scope waits for the caller.
    unsafe fn get(&self) -> &ScopeBase<'scope> {
        // SAFETY: by this function's contract.
        unsafe { &*self.0 }
    }
}

#[repr(C)]
struct Child<'scope, F> {
    node: rb_child,
    scope: ScopeRef<'scope>,
    body: F,
}

/// Opens a scope for children in `pool`, calls `op` on this thread, and waits.
///
/// # Safety
///
/// The pool lives, and `worker` is null or the calling thread's record.
pub(crate) unsafe fn in_place_scope_in<'scope, OP, R>(
    pool: *mut rb_pool,
    worker: *mut rb_worker,
    order: Order,
    op: OP,
) -> R
where
    OP: FnOnce(&ScopeBase<'scope>) -> R,
{
    // SAFETY: by this function's contract.
    let is_raw = unsafe { !worker.is_null() && sys::rb_worker_pool(worker) == pool };
    let base = ScopeBase {
        raw: UnsafeCell::new(MaybeUninit::uninit()),
        is_raw,
        pool,
        children: CountLatch::new(1),
        has_broadcasts: AtomicBool::new(false),
        broadcasts: Mutex::new(Vec::new()),
        panic: AtomicPtr::new(ptr::null_mut()),
        _marker: PhantomData,
    };
    // SAFETY: the scope stays where it is until all children have ended.
    unsafe {
        if is_raw {
            let order = if order == Order::Lifo { sys::RB_SCOPE_LIFO } else { sys::RB_SCOPE_FIFO };
            sys::rb_scope_begin(worker, base.raw(), order | sys::RB_SCOPE_UNSTOPPED); // rayon has no stops
        }
        let result = unwind::halt_unwinding(|| op(&base));
        base.wait(worker);
        match result {
            Ok(value) => {
                base.resume_panic();
                value
            }
            Err(payload) => {
                base.store_panic(payload);
                base.resume_panic();
                unreachable!("the panic goes on")
            }
        }
    }
}

impl<'scope> ScopeBase<'scope> {
    #[inline]
    fn raw(&self) -> *mut rb_scope {
        self.raw.get().cast()
    }

    fn spawn<F>(&self, order: Order, body: F)
    where
        F: FnOnce(&ScopeBase<'scope>) + Send + 'scope,
    {
        unsafe extern "C" fn run<'scope, F>(node: *mut rb_child, worker: *mut rb_worker)
        where
            F: FnOnce(&ScopeBase<'scope>) + Send + 'scope,
        {
            // SAFETY: the node is the first field of a child, which comes from Box::into_raw, and the scope waits.
            unsafe {
                let Child { scope, body, .. } = *Box::from_raw(node.cast::<Child<'scope, F>>());
                // Null: the pool's work was dropped.
                if !worker.is_null() {
                    scope.get().call(body);
                }
            }
        }
        /// The body is dropped before the scope goes on.
        struct Queued<'scope, F> {
            body: F,
            ended: Ended<'scope>,
        }
        impl<'scope, F> Queued<'scope, F>
        where
            F: FnOnce(&ScopeBase<'scope>),
        {
            fn run(self) {
                // SAFETY: the scope waits for `ended` to be dropped.
                unsafe { self.ended.scope.get() }.call(self.body);
            }
        }
        let scope = ScopeRef(self);
        if self.is_raw {
            let node = rb_child { opaque: [ptr::null_mut(); 4], run: Some(run::<F>) };
            let child = Box::into_raw(Box::new(Child { node, scope, body }));
            // SAFETY: the scope is open while it can be reached, and the child frees itself.
            unsafe { sys::rb_scope_spawn(self.raw(), child.cast()) };
            return;
        }
        self.children.increment();
        let queued = Queued { body, ended: Ended { scope, own: None } };
        // SAFETY: the scope waits until the closure was called or dropped.
        unsafe { job::spawn(self.pool, order, move || queued.run()) };
    }

    fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&ScopeBase<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        /// What the calls share. The body is dropped before the scope goes on.
        struct Shared<'scope, F> {
            body: F,
            ended: Ended<'scope>,
        }
        impl<'scope, F> Shared<'scope, F>
        where
            F: Fn(&ScopeBase<'scope>, BroadcastContext<'_>),
        {
            fn call(&self, context: BroadcastContext<'_>) {
                // SAFETY: the scope waits for `ended` to be dropped.
                unsafe { self.ended.scope.get() }.call(|base| (self.body)(base, context));
            }
        }
        let scope = ScopeRef(self);
        let own = if self.is_raw {
            let latch = Arc::new(CountLatch::new(1));
            self.broadcasts.lock().unwrap().push(Arc::clone(&latch));
            // Pairs with the owner's load: a call that it waits for, or it itself, has come here before.
            self.has_broadcasts.store(true, Ordering::Release);
            Some(latch)
        } else {
            self.children.increment();
            None
        };
        let shared = Shared { body, ended: Ended { scope, own } };
        // SAFETY: the scope waits until all copies of the closure are dropped.
        unsafe { spawn_broadcast_on(self.pool, move |context| shared.call(context)) };
    }

    /// Calls a child's body, and keeps its panic.
    fn call(&self, body: impl FnOnce(&ScopeBase<'scope>)) {
        if let Err(payload) = unwind::halt_unwinding(|| body(self)) {
            self.store_panic(payload);
        }
    }

    #[cold]
    fn store_panic(&self, payload: Box<dyn Any + Send>) {
        let stored = Box::into_raw(Box::new(payload));
        // Release: pairs with the owner's load after its wait.
        if self.panic.compare_exchange(ptr::null_mut(), stored, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: it is the box from above. Its drop may panic in its turn, which must not leave a task.
            let later = unsafe { Box::from_raw(stored) };
            std::mem::forget(unwind::halt_unwinding(|| drop(later)));
        }
    }

    fn resume_panic(&self) {
        // Acquire: pairs with the exchange in store_panic().
        let stored = self.panic.load(Ordering::Acquire);
        if !stored.is_null() {
            self.panic.store(ptr::null_mut(), Ordering::Relaxed);
            // SAFETY: all children have ended, and it is a box of store_panic().
            unwind::resume_unwinding(*unsafe { Box::from_raw(stored) });
        }
    }

    /// # Safety
    ///
    /// Once, by the thread that has opened the scope, with its record in its own pool or null.
    unsafe fn wait(&self, worker: *mut rb_worker) {
        // SAFETY: by this function's contract.
        unsafe {
            if !self.is_raw {
                CountLatch::count_down(&self.children);
                self.children.wait(worker);
                return;
            }
            // After each wait for a broadcast there may be new children, and after each wait for children new broadcasts.
            // A broadcast stays in the list until it was waited for, so an empty one says that none runs.
            let mut wait_again = self.has_broadcasts.load(Ordering::Acquire);
            loop {
                if wait_again {
                    sys::rb_scope_wait(self.raw());
                    let latch = self.broadcasts.lock().unwrap().pop();
                    if let Some(latch) = latch {
                        latch.wait(worker);
                        continue;
                    }
                    break;
                }
                sys::rb_scope_wait(self.raw());
                if !self.has_broadcasts.load(Ordering::Acquire) {
                    break;
                }
                wait_again = true;
            }
            sys::rb_scope_end(self.raw());
        }
    }
}

/// Tells the scope, when it is dropped, that a queued child or the last call of a broadcast has ended.
struct Ended<'scope> {
    scope: ScopeRef<'scope>,
    /// The latch of a broadcast in a scope of the library's.
    own: Option<Arc<CountLatch>>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        // SAFETY: the scope waits for this call, and may be gone after it.
        unsafe {
            match &self.own {
                Some(latch) => CountLatch::count_down(Arc::as_ptr(latch)),
                None => CountLatch::count_down(ptr::addr_of!((*self.scope.0).children)),
            }
        }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.debug("Scope", f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.debug("ScopeFifo", f)
    }
}

impl ScopeBase<'_> {
    fn debug(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name)
            .field("pool", &self.pool)
            .field("has_panicked", &!self.panic.load(Ordering::Relaxed).is_null())
            .finish_non_exhaustive()
    }
}
