use crate::call::{self, FirstPanic};
use rubato_sys as sys;
use rubato_sys::{rb_child, rb_pool, rb_scope, rb_worker};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// Where children may be spawned that borrow what is around the scope.
pub struct Scope<'scope> {
    raw: UnsafeCell<MaybeUninit<rb_scope>>,
    panic: FirstPanic,
    /// The children, which are moved to other threads, but not shared. Invariant in 'scope.
    #[allow(clippy::type_complexity)]
    _marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

// SAFETY: children are spawned from any thread, and only that, and stops, can be done with &self.
unsafe impl Sync for Scope<'_> {}

/// Calls a closure on the calling thread, waits for all children that are spawned into the scope, and returns its result. The newest
/// children run first on the thread that waits, the oldest on others.
///
/// ```
/// let mut halves = (0, 0);
/// rubato::scope(|scope| {
///     scope.spawn(|_| halves.0 = (0..50).sum());
///     scope.spawn(|_| halves.1 = (50..100).sum());
/// });
/// assert_eq!(halves.0 + halves.1, 4950);
/// ```
///
/// # Panics
///
/// After a panic, children that have not begun are dropped. They are, too, if a task of C++ code around the call is asked to stop.
pub fn scope<'scope, R>(f: impl FnOnce(&Scope<'scope>) -> R) -> R {
    // SAFETY: the pool of the task around the call, or the global one, outlives it.
    unsafe { scope_in(call::current_pool(), f) }
}

/// # Safety
///
/// The pool lives.
pub(crate) unsafe fn scope_in<'scope, R>(pool: *mut rb_pool, f: impl FnOnce(&Scope<'scope>) -> R) -> R {
    let scope =
        Scope { raw: UnsafeCell::new(MaybeUninit::uninit()), panic: FirstPanic::default(), _marker: PhantomData };
    // SAFETY: by this function's contract; the scope stays where it is until it has ended.
    unsafe {
        let error = sys::rb_scope_begin_on(pool, scope.raw(), sys::RB_SCOPE_LIFO);
        assert_eq!(error, 0, "the pool cannot be used");
        let result = call::caught(|| f(&scope));
        if result.is_err() {
            sys::rb_scope_stop(scope.raw());
        }
        sys::rb_scope_end(scope.raw());
        if result.is_ok() {
            scope.panic.resume();
        }
        call::value_or_resume(result)
    }
}

impl<'scope> Scope<'scope> {
    fn raw(&self) -> *mut rb_scope {
        self.raw.get().cast()
    }

    /// Adds a child, which may add further ones. In a stopped scope it is dropped.
    pub fn spawn(&self, f: impl FnOnce(&Scope<'scope>) + Send + 'scope) {
        spawn_child(self, f);
    }

    /// Drops the children that have not begun.
    pub fn stop(&self) {
        // SAFETY: the scope is open while it can be reached.
        unsafe { sys::rb_scope_stop(self.raw()) }
    }
}

#[repr(C)]
struct Child<'scope, F> {
    node: rb_child,
    scope: *const Scope<'scope>,
    f: F,
}

fn spawn_child<'scope, F>(scope: &Scope<'scope>, f: F)
where
    F: FnOnce(&Scope<'scope>) + Send + 'scope,
{
    unsafe extern "C" fn run<'scope, F>(node: *mut rb_child, worker: *mut rb_worker)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        // SAFETY: the node is the first field of a child that comes from Box::into_raw; the scope waits for it.
        let (scope, f) = unsafe {
            let child = *Box::from_raw(node.cast::<Child<'scope, F>>());
            (&*child.scope, child.f)
        };
        // Null: the scope was stopped.
        let result = call::caught(|| if worker.is_null() { drop(f) } else { f(scope) });
        if let Err(payload) = result {
            scope.panic.store(payload);
            scope.stop();
        }
    }
    let node = rb_child { opaque: [ptr::null_mut(); 4], run: Some(run::<F>) };
    let child = Box::into_raw(Box::new(Child { node, scope, f }));
    // SAFETY: the scope is open while it can be reached, and the child frees itself.
    unsafe { sys::rb_scope_spawn(scope.raw(), child.cast()) };
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("has_panicked", &self.panic.is_set()).finish_non_exhaustive()
    }
}
