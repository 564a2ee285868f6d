use crate::error::{ErrorKind, ThreadPoolBuildError};
use crate::registry::{self, Registry};
use crate::thread_pool::{max_num_threads, ThreadPool};
use crate::unwind;
use rubato_sys as sys;
use rubato_sys::rb_thread;
use std::any::Any;
use std::error::Error;
use std::ffi::c_int;
use std::{env, fmt, io, thread};

type PanicHandler = dyn Fn(Box<dyn Any + Send>) + Send + Sync;
type ThreadHandler = dyn Fn(usize) + Send + Sync;
type ThreadName = dyn FnMut(usize) -> String;

/// The callbacks that live as long as the pool.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<Box<PanicHandler>>,
    pub(crate) start: Option<Box<ThreadHandler>>,
    pub(crate) exit: Option<Box<ThreadHandler>>,
}

/// The options of a pool.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    handlers: Handlers,
    parts: Parts<S>,
    breadth_first: bool,
}

/// What is needed to make threads.
pub(crate) struct Parts<S> {
    pub(crate) name: Option<Box<ThreadName>>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) spawn: S,
    is_custom: bool,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            handlers: Handlers::default(),
            parts: Parts { name: None, stack_size: None, spawn: DefaultSpawn, is_custom: false },
            breadth_first: false,
        }
    }
}

impl ThreadPoolBuilder {
    /// The default options: as many threads as `RAYON_NUM_THREADS` says, or else as CPUs may be used.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a pool whose threads may borrow, calls `with_pool`, and waits until the threads have ended. Each thread calls `wrapper`,
    /// which calls [`ThreadBuilder::run()`].
    ///
    /// ```
    /// let text = String::from("lives outside");
    /// let length = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .build_scoped(|thread| { assert!(!text.is_empty()); thread.run() }, |pool| pool.install(|| text.len()))
    ///     .unwrap();
    /// assert_eq!(length, 13);
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let pool = self
                .spawn_handler(|thread| {
                    thread.std_builder().spawn_scoped(scope, move || wrapper(thread))?;
                    Ok(())
                })
                .build()?;
            Ok(with_pool(&pool))
        })
    }

    /// Sets the function that makes the threads. It is called on the thread that builds the pool, once for each thread, and sees to it
    /// that another thread calls [`ThreadBuilder::run()`].
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(|| thread.run())?;
    ///         Ok(())
    ///     })
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            handlers: self.handlers,
            parts: Parts {
                name: self.parts.name,
                stack_size: self.parts.stack_size,
                spawn: CustomSpawn(spawn),
                is_custom: true,
            },
            breadth_first: self.breadth_first,
        }
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Makes a pool.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        Ok(ThreadPool { registry: Registry::build(self)? })
    }

    /// Makes the global pool, which otherwise is made with the default options when it is first used. Once per process: an error if it
    /// exists, also if C++ code has made it.
    ///
    /// With [`spawn_handler`](ThreadPoolBuilder::spawn_handler) or [`use_current_thread`](Self::use_current_thread) the global pool
    /// of Rust code is one of its own, which C++ code does not share.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        registry::build_global(self)
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets the name of each thread, from its index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.parts.name = Some(Box::new(closure));
        self
    }

    /// Sets the number of threads. 0: as many as the environment's `RAYON_NUM_THREADS` says, or else as CPUs may be used.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the calling thread the pool's thread 0. It runs the pool's work while it waits for some, or when it calls
    /// [`yield_now`](crate::yield_now). It leaves the pool when it drops it; a pool that another thread drops keeps its memory.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets what is called with a panic of a closure that no call waits for. Without it such a panic aborts the program, and so does
    /// a panic of the handler itself.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// Sets the size of the threads' stacks in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.parts.stack_size = Some(stack_size);
        self
    }

    /// Has no effect, as in rayon it is only a hint.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo`")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Sets what each thread calls, with its index, before its first work.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Sets what each thread calls, with its index, after its last work.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.exit = Some(Box::new(exit_handler));
        self
    }

    /// The number of threads that `build()` will make.
    pub(crate) fn wanted_threads(&self) -> usize {
        let asked = || {
            ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"]
                .iter()
                .find_map(|name| env::var(name).ok()?.parse::<usize>().ok())
        };
        let wanted = if self.num_threads != 0 { self.num_threads } else { asked().unwrap_or(0) };
        let available = || thread::available_parallelism().map_or(1, |number| number.get());
        (if wanted == 0 { available() } else { wanted }).min(max_num_threads())
    }

    pub(crate) fn uses_current_thread(&self) -> bool {
        self.use_current_thread
    }

    /// Whether the threads come from the caller.
    pub(crate) fn makes_threads(&self) -> bool {
        self.use_current_thread || self.parts.is_custom
    }

    pub(crate) fn into_parts(self) -> (Handlers, Parts<S>) {
        (self.handlers, self.parts)
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("has_thread_name", &self.parts.name.is_some())
            .field("has_panic_handler", &self.handlers.panic.is_some())
            .field("stack_size", &self.parts.stack_size)
            .field("has_start_handler", &self.handlers.start.is_some())
            .field("has_exit_handler", &self.handlers.exit.is_some())
            .field("breadth_first", &self.breadth_first)
            .finish_non_exhaustive()
    }
}

/// How the threads of a pool are made. Only this crate implements it.
pub trait ThreadSpawn {
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
    #[doc(hidden)]
    fn sealed(&self) -> sealed::Sealed;
}

mod sealed {
    #[derive(Debug)]
    pub struct Sealed;
}

/// Threads by `std::thread::Builder`.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.std_builder().spawn(|| thread.run())?;
        Ok(())
    }

    fn sealed(&self) -> sealed::Sealed {
        sealed::Sealed
    }
}

/// Threads by the program's function.
#[derive(Debug)]
pub struct CustomSpawn<F>(F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }

    fn sealed(&self) -> sealed::Sealed {
        sealed::Sealed
    }
}

/// A thread that a spawn handler is to make.
pub struct ThreadBuilder {
    raw: *mut rb_thread,
    index: usize,
    name: Option<String>,
    stack_size: Option<usize>,
    pool: usize,
}

// SAFETY: the library takes the thread that calls rb_thread_run() as it comes.
unsafe impl Send for ThreadBuilder {}

impl ThreadBuilder {
    /// The index of the thread, below the number of threads.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Its name, if the pool has names.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The size of its stack, if one was asked for.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool until that has ended.
    pub fn run(self) {
        // SAFETY: once, as it takes the builder.
        unsafe { sys::rb_thread_run(self.raw) }
    }

    fn std_builder(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = self.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(size) = self.stack_size() {
            builder = builder.stack_size(size);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.pool)
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// Makes the threads of one pool, while that is built.
pub(crate) struct Making<'a> {
    name: &'a mut Option<Box<ThreadName>>,
    stack_size: Option<usize>,
    spawn: &'a mut dyn FnMut(ThreadBuilder) -> io::Result<()>,
    pool: usize,
    failure: Option<Failure>,
}

enum Failure {
    Error(io::Error),
    Panic(Box<dyn Any + Send>),
}

impl<'a> Making<'a> {
    pub(crate) fn new(
        name: &'a mut Option<Box<ThreadName>>,
        stack_size: Option<usize>,
        spawn: &'a mut dyn FnMut(ThreadBuilder) -> io::Result<()>,
        pool: usize,
    ) -> Self {
        Making { name, stack_size, spawn, pool, failure: None }
    }

    /// Hands one thread to the spawn handler. 0, or a negative errno; the failure itself is kept.
    ///
    /// # Safety
    ///
    /// `thread` is what the library has passed to `make_thread`.
    pub(crate) unsafe fn make(&mut self, thread: *mut rb_thread) -> c_int {
        // SAFETY: by this function's contract.
        let index = unsafe { sys::rb_thread_number(thread) } as usize;
        let (name, spawn) = (&mut *self.name, &mut *self.spawn);
        let (stack_size, pool) = (self.stack_size, self.pool);
        let made = unwind::halt_unwinding(|| {
            let name = name.as_mut().map(|name| name(index));
            spawn(ThreadBuilder { raw: thread, index, name, stack_size, pool })
        });
        let failure = match made {
            Ok(Ok(())) => return 0,
            Ok(Err(error)) => Failure::Error(error),
            Err(payload) => Failure::Panic(payload),
        };
        self.failure = Some(failure);
        -EAGAIN
    }

    /// Why `make` failed, if it did. Goes on with a panic.
    pub(crate) fn into_error(self) -> Option<ThreadPoolBuildError> {
        match self.failure? {
            Failure::Error(error) => Some(ThreadPoolBuildError::new(ErrorKind::Io(error))),
            Failure::Panic(payload) => unwind::resume_unwinding(payload),
        }
    }
}

const EAGAIN: c_int = 11;

/// The old name of the builder.
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

#[allow(deprecated)]
impl Configuration {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// See `ThreadPoolBuilder::build`.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        Ok(self.builder.build()?)
    }

    /// See `ThreadPoolBuilder::thread_name`.
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        Configuration { builder: self.builder.thread_name(closure) }
    }

    /// See `ThreadPoolBuilder::num_threads`.
    pub fn num_threads(self, num_threads: usize) -> Self {
        Configuration { builder: self.builder.num_threads(num_threads) }
    }

    /// See `ThreadPoolBuilder::panic_handler`.
    pub fn panic_handler<H>(self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Configuration { builder: self.builder.panic_handler(panic_handler) }
    }

    /// See `ThreadPoolBuilder::stack_size`.
    pub fn stack_size(self, stack_size: usize) -> Self {
        Configuration { builder: self.builder.stack_size(stack_size) }
    }

    /// See `ThreadPoolBuilder::breadth_first`.
    pub fn breadth_first(self) -> Self {
        Configuration { builder: self.builder.breadth_first() }
    }

    /// See `ThreadPoolBuilder::start_handler`.
    pub fn start_handler<H>(self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration { builder: self.builder.start_handler(start_handler) }
    }

    /// See `ThreadPoolBuilder::exit_handler`.
    pub fn exit_handler<H>(self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        Configuration { builder: self.builder.exit_handler(exit_handler) }
    }
}

#[allow(deprecated)]
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.builder.fmt(f)
    }
}

/// See `ThreadPoolBuilder::build_global`.
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[allow(deprecated)]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    Ok(config.builder.build_global()?)
}
