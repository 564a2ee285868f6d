//! The pools that this crate knows, and how a call gets onto one of their threads.

use crate::builder::{Handlers, Making, ThreadPoolBuilder, ThreadSpawn};
use crate::error::{ErrorKind, ThreadPoolBuildError};
use crate::job::Home;
use crate::latch::CountLatch;
use crate::unwind;
use rubato_sys as sys;
use rubato_sys::{rb_pool, rb_pool_options, rb_task, rb_worker};
use std::any::Any;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};

/// What this crate remembers of a pool. It lives until the pool is over.
pub(crate) struct Registry {
    /// Null until `rb_pool_new` has returned.
    pool: AtomicPtr<rb_pool>,
    handlers: Handlers,
    homes: Box<[Home]>,
    /// The thread that the pool's maker has lent it.
    lent: Option<ThreadId>,
    /// Of the threads of a global pool that are to have names.
    names: Vec<String>,
    stack_size: Option<usize>,
    /// How threads are made; only while `rb_pool_new` runs.
    making: Mutex<Option<(ThreadId, *mut Making<'static>)>>,
    #[cfg(test)]
    over: (Mutex<bool>, std::sync::Condvar),
}

// SAFETY: handlers are Send and Sync; `making` is used by one call at a time, on the thread that builds.
unsafe impl Send for Registry {}
// SAFETY: as above.
unsafe impl Sync for Registry {}

thread_local! {
    /// The pool whose thread this is.
    static OWN: Cell<*const Registry> = const { Cell::new(ptr::null()) };
}

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
/// Held while the global pool is configured.
static CONFIGURING: Mutex<()> = Mutex::new(());

const EBUSY: c_int = 16;
const EAGAIN: c_int = 11;

/// The global pool, with rayon's defaults if it does not exist, or as C++ code of the process has made it.
pub(crate) fn global() -> &'static Arc<Registry> {
    if let Some(registry) = GLOBAL.get() {
        return registry;
    }
    let _configuring = CONFIGURING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    GLOBAL.get_or_init(|| {
        let builder = ThreadPoolBuilder::new();
        match Registry::configure_global(builder) {
            Ok(registry) => registry,
            Err(EBUSY) => Registry::of_global(),
            Err(errno) => panic!("the global pool cannot be made: {}", ThreadPoolBuildError::from_errno(-errno)),
        }
    })
}

/// Makes the global pool. One that C++ code has made is taken for an earlier call.
pub(crate) fn build_global<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> Result<(), ThreadPoolBuildError> {
    let _configuring = CONFIGURING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let already = || ThreadPoolBuildError::new(ErrorKind::GlobalPoolAlreadyInitialized);
    if GLOBAL.get().is_some() {
        return Err(already());
    }
    let registry = if builder.makes_threads() {
        // Rubato's global pool makes its threads at its first use, when the function that was passed here is gone.
        Registry::build(builder)?
    } else {
        match Registry::configure_global(builder) {
            Ok(registry) => registry,
            Err(EBUSY) => return Err(already()),
            Err(errno) => return Err(ThreadPoolBuildError::from_errno(-errno)),
        }
    };
    if GLOBAL.set(registry).is_err() {
        unreachable!("it is set under the lock");
    }
    Ok(())
}

impl Registry {
    fn new(threads: usize) -> Registry {
        // SAFETY: always allowed.
        let found = unsafe { (sys::rb_abi_version(), sys::rb_inline_version()) };
        assert_eq!(
            found,
            (sys::RB_ABI_VERSION, sys::RB_INLINE_VERSION),
            "librubato is of another release than this crate"
        );
        Registry {
            pool: AtomicPtr::new(ptr::null_mut()),
            handlers: Handlers::default(),
            homes: (0..threads).map(|number| Home::new(number as u32)).collect(),
            lent: None,
            names: Vec::new(),
            stack_size: None,
            making: Mutex::new(None),
            #[cfg(test)]
            over: Default::default(),
        }
    }

    /// The options of a pool whose callbacks get a reference to `registry`, and give it back when the pool is over.
    fn options(registry: &Arc<Registry>) -> rb_pool_options {
        rb_pool_options {
            workers: registry.num_threads() as u32,
            spares: 0,
            search_ns: -1,
            stack_size: registry.stack_size.unwrap_or(0),
            arg: Arc::into_raw(Arc::clone(registry)).cast_mut().cast(),
            on_start: Some(on_start),
            on_exit: Some(on_exit),
            release: Some(release),
            ..Default::default()
        }
    }

    fn configure_global<S>(builder: ThreadPoolBuilder<S>) -> Result<Arc<Registry>, c_int> {
        let threads = builder.wanted_threads();
        let (handlers, mut parts) = builder.into_parts();
        let names = parts.name.as_mut().map_or(Vec::new(), |name| (0..threads).map(name).collect());
        let registry = Arc::new(Registry { handlers, names, stack_size: parts.stack_size, ..Self::new(threads) });
        let mut options = Self::options(&registry);
        if !registry.names.is_empty() {
            options.make_thread = Some(make_named_thread);
        }
        // SAFETY: the callbacks take the registry's reference.
        match unsafe { sys::rb_pool_configure_global(&options) } {
            0 => {}
            negative => return Err(-negative),
        }
        let mut pool = ptr::null_mut();
        // SAFETY: a place for the handle.
        match unsafe { sys::rb_pool_global(&mut pool) } {
            0 => {}
            negative => return Err(-negative),
        }
        registry.pool.store(pool, Ordering::Release);
        Ok(registry)
    }

    /// A record of the global pool as C++ code has made it.
    fn of_global() -> Arc<Registry> {
        let mut pool = ptr::null_mut();
        // SAFETY: a place for the handle, which is valid for ever.
        let threads = unsafe {
            assert_eq!(sys::rb_pool_global(&mut pool), 0, "the global pool is there");
            sys::rb_pool_size(pool)
        };
        let registry = Arc::new(Self::new(threads.max(1) as usize));
        registry.pool.store(pool, Ordering::Release);
        registry
    }

    pub(crate) fn build<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let uses_current = builder.uses_current_thread();
        // SAFETY: always allowed.
        if uses_current && !unsafe { sys::rb_current() }.is_null() {
            return Err(ThreadPoolBuildError::new(ErrorKind::CurrentThreadAlreadyInPool));
        }
        let lent = uses_current.then(|| thread::current().id());
        let threads = builder.wanted_threads();
        let (handlers, mut parts) = builder.into_parts();
        let registry = Arc::new(Registry { handlers, lent, stack_size: parts.stack_size, ..Self::new(threads) });
        let mut spawn = |thread| parts.spawn.spawn(thread);
        let mut making = Making::new(&mut parts.name, parts.stack_size, &mut spawn, Arc::as_ptr(&registry) as usize);

        let options = rb_pool_options {
            flags: sys::RB_POOL_START_ALL | if uses_current { sys::RB_POOL_JOINS_CALLER } else { 0 },
            make_thread: Some(make_thread),
            ..Self::options(&registry)
        };
        // The lifetime ends with this function, which clears the place again.
        *registry.making.lock().unwrap() = Some((thread::current().id(), ptr::from_mut(&mut making).cast()));
        if uses_current {
            OWN.set(Arc::as_ptr(&registry));
        }
        let mut pool = ptr::null_mut();
        // SAFETY: the callbacks take the registry's reference.
        let error = unsafe { sys::rb_pool_new(&options, &mut pool) };
        *registry.making.lock().unwrap() = None;
        if error == 0 {
            registry.pool.store(pool, Ordering::Release);
            return Ok(registry);
        }
        if uses_current {
            OWN.set(ptr::null());
        }
        Err(making.into_error().unwrap_or_else(|| ThreadPoolBuildError::from_errno(error)))
    }

    pub(crate) fn pool(&self) -> *mut rb_pool {
        self.pool.load(Ordering::Acquire)
    }

    pub(crate) fn num_threads(&self) -> usize {
        self.homes.len()
    }

    /// Begins the pool's end: what is queued and what that spawns still runs.
    pub(crate) fn terminate(&self) {
        let pool = self.pool();
        // SAFETY: the only user of the handle gives it up. A lent thread has to leave itself: if another thread drops
        // the pool, its memory stays.
        unsafe {
            if let Some(lent) = self.lent {
                if lent != thread::current().id() || sys::rb_pool_leave(pool) != 0 {
                    sys::rb_pool_request_shutdown(pool, sys::RB_DRAIN);
                    return;
                }
                OWN.set(ptr::null());
            }
            sys::rb_pool_release(pool);
        }
    }

    /// Passes on a panic that no caller will see.
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        match &self.handlers.panic {
            None => unwind::abort("a closure panicked that no call waits for, and the pool has no panic handler"),
            Some(handler) => {
                if unwind::halt_unwinding(|| handler(payload)).is_err() {
                    unwind::abort("the panic handler panicked");
                }
            }
        }
    }

    /// Calls `op` on a thread of this pool, and waits. The flag tells whether it was another thread than the caller's.
    pub(crate) fn in_worker<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(*mut rb_worker, bool) -> R + Send,
        R: Send,
    {
        // SAFETY: the record is this thread's.
        unsafe {
            let worker = sys::rb_current();
            if worker.is_null() {
                call_from_outside(self.pool(), op)
            } else if sys::rb_worker_pool(worker) == self.pool() {
                op(worker, false)
            } else {
                call_from_other_pool(self.pool(), worker, op)
            }
        }
    }

    /// For rayon-core's own tests (scripts/test-rayon).
    #[cfg(test)]
    #[allow(dead_code)]
    pub(crate) fn wait_until_stopped(&self) {
        let mut over = self.over.0.lock().unwrap();
        while !*over {
            over = self.over.1.wait(over).unwrap();
        }
    }
}

/// The pool whose code the calling thread runs, with its record if this crate has one: C++ code may have pools of its own.
pub(crate) struct Current<'a> {
    pub(crate) pool: *mut rb_pool,
    pub(crate) registry: Option<&'a Registry>,
    /// Null outside any pool; `pool` is the global one then.
    pub(crate) worker: *mut rb_worker,
}

/// # Safety
///
/// The result is used while the calling thread is in the pool in which it is now.
pub(crate) unsafe fn current<'a>() -> Current<'a> {
    // SAFETY: the record is this thread's, and so is the registry of its own pool, which lives as long as its threads.
    unsafe {
        let worker = sys::rb_current();
        if worker.is_null() {
            let registry = global();
            return Current { pool: registry.pool(), registry: Some(registry), worker };
        }
        let pool = sys::rb_worker_pool(worker);
        let own = OWN.get().as_ref().filter(|registry| {
            let own = registry.pool();
            own == pool || own.is_null()
        });
        let registry = own.or_else(|| GLOBAL.get().map(Arc::as_ref).filter(|registry| registry.pool() == pool));
        Current { pool, registry, worker }
    }
}

/// The home of the calling thread in a pool; none outside that, in a pool that this crate does not know, and for a thread beyond the
/// size of a pool with spares.
///
/// # Safety
///
/// The result is used while the calling thread is in the pool.
pub(crate) unsafe fn own_home<'a>(pool: *mut rb_pool) -> Option<&'a Home> {
    // SAFETY: the record is this thread's.
    unsafe {
        let worker = sys::rb_current();
        if worker.is_null() || sys::rb_worker_pool(worker) != pool {
            return None;
        }
        current().registry?.homes.get(sys::rb_worker_number(worker) as usize)
    }
}

/// Calls `op` on this thread if it is in a pool, and else on one of the global pool.
#[inline(always)]
pub(crate) fn in_worker<OP, R>(op: OP) -> R
where
    OP: FnOnce(*mut rb_worker, bool) -> R + Send,
    R: Send,
{
    // SAFETY: always allowed.
    let worker = unsafe { sys::rb_current() };
    if worker.is_null() {
        call_from_outside(global().pool(), op)
    } else {
        op(worker, false)
    }
}

/// A call that waits, and its result; none if the pool has ended.
struct Call<OP, R> {
    op: Option<OP>,
    result: Option<thread::Result<R>>,
}

impl<OP, R> Call<OP, R>
where
    OP: FnOnce(*mut rb_worker, bool) -> R,
{
    fn new(op: OP) -> Self {
        Call { op: Some(op), result: None }
    }

    fn run(&mut self, worker: *mut rb_worker) {
        if let (false, Some(op)) = (worker.is_null(), self.op.take()) {
            self.result = Some(unwind::halt_unwinding(|| op(worker, true)));
        }
    }

    fn finish(self) -> R {
        unwind::unwrap_or_resume(self.result.expect("the pool has ended"))
    }
}

#[cold]
#[inline(never)]
fn call_from_outside<OP, R>(pool: *mut rb_pool, op: OP) -> R
where
    OP: FnOnce(*mut rb_worker, bool) -> R + Send,
    R: Send,
{
    unsafe extern "C" fn run<OP, R>(arg: *mut c_void, worker: *mut rb_worker)
    where
        OP: FnOnce(*mut rb_worker, bool) -> R,
    {
        // SAFETY: `arg` is the call below, which waits.
        unsafe { (*arg.cast::<Call<OP, R>>()).run(worker) }
    }
    let mut call = Call::new(op);
    // SAFETY: the call stays where it is until rb_call has returned.
    unsafe { sys::rb_call(pool, run::<OP, R>, ptr::from_mut(&mut call).cast()) };
    call.finish()
}

#[repr(C)]
struct QueuedCall<OP, R> {
    task: rb_task,
    call: Call<OP, R>,
    latch: CountLatch,
}

/// # Safety
///
/// `worker` is the calling thread's record in its own pool.
#[cold]
#[inline(never)]
unsafe fn call_from_other_pool<OP, R>(pool: *mut rb_pool, worker: *mut rb_worker, op: OP) -> R
where
    OP: FnOnce(*mut rb_worker, bool) -> R + Send,
    R: Send,
{
    unsafe extern "C" fn run<OP, R>(task: *mut rb_task, worker: *mut rb_worker)
    where
        OP: FnOnce(*mut rb_worker, bool) -> R,
    {
        let queued = task.cast::<QueuedCall<OP, R>>();
        // SAFETY: the task is the first field; its owner waits for the latch, which is the last thing that is touched.
        unsafe {
            (*queued).call.run(worker);
            CountLatch::count_down(ptr::addr_of!((*queued).latch));
        }
    }
    let mut queued = QueuedCall {
        task: rb_task { opaque: [ptr::null_mut(); 4], run: Some(run::<OP, R>) },
        call: Call::new(op),
        latch: CountLatch::new(1),
    };
    let place = ptr::from_mut(&mut queued);
    // SAFETY: it stays where it is until the latch is over.
    unsafe {
        if sys::rb_enqueue(pool, place.cast(), sys::RB_QUEUE_FIFO) == 0 {
            (*ptr::addr_of!((*place).latch)).wait(worker);
        }
    }
    queued.call.finish()
}

unsafe extern "C" fn on_start(arg: *mut c_void, number: u32) {
    // SAFETY: the pool has a reference to the registry.
    let registry = unsafe { &*arg.cast::<Registry>() };
    OWN.set(registry);
    if let Some(handler) = &registry.handlers.start {
        if let Err(payload) = unwind::halt_unwinding(|| handler(number as usize)) {
            registry.handle_panic(payload);
        }
    }
}

unsafe extern "C" fn on_exit(arg: *mut c_void, number: u32) {
    // SAFETY: the pool has a reference to the registry.
    let registry = unsafe { &*arg.cast::<Registry>() };
    if let Some(handler) = &registry.handlers.exit {
        if let Err(payload) = unwind::halt_unwinding(|| handler(number as usize)) {
            registry.handle_panic(payload);
        }
    }
    OWN.set(ptr::null());
}

unsafe extern "C" fn make_thread(arg: *mut c_void, thread: *mut sys::rb_thread) -> c_int {
    // SAFETY: the pool has a reference to the registry.
    let registry = unsafe { &*arg.cast::<Registry>() };
    let making = *registry.making.lock().unwrap();
    match making {
        // A start handler that spawns may ask for a thread too; the one that builds the pool will make it.
        Some((builder, making)) if builder == thread::current().id() => {
            // SAFETY: Registry::build() waits in rb_pool_new(), on this thread.
            unsafe { (*making).make(thread) }
        }
        _ => -EAGAIN,
    }
}

/// Threads of the global pool, which are made when it is first used.
unsafe extern "C" fn make_named_thread(arg: *mut c_void, thread: *mut sys::rb_thread) -> c_int {
    struct Made(*mut sys::rb_thread);
    // SAFETY: the library takes the thread that calls rb_thread_run() as it comes.
    unsafe impl Send for Made {}
    impl Made {
        fn run(self) {
            // SAFETY: once, as it takes the value.
            unsafe { sys::rb_thread_run(self.0) }
        }
    }
    // SAFETY: the pool has a reference to the registry, which is not given back.
    let (registry, number) = unsafe { (&*arg.cast::<Registry>(), sys::rb_thread_number(thread)) };
    let mut builder = thread::Builder::new();
    if let Some(name) = registry.names.get(number as usize) {
        builder = builder.name(name.clone());
    }
    if let Some(size) = registry.stack_size {
        builder = builder.stack_size(size);
    }
    let made = Made(thread);
    match builder.spawn(move || made.run()) {
        Ok(_) => 0,
        Err(error) => -error.raw_os_error().unwrap_or(EAGAIN),
    }
}

unsafe extern "C" fn release(arg: *mut c_void) {
    // SAFETY: it is the reference that the options took.
    let registry = unsafe { Arc::from_raw(arg.cast::<Registry>()) };
    #[cfg(test)]
    {
        *registry.over.0.lock().unwrap() = true;
        registry.over.1.notify_all();
    }
    drop(registry);
}
