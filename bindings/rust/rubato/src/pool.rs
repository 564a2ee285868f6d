use crate::call;
use crate::spawn::{self, Task};
use crate::{join, range, scope, Scope};
use rubato_sys as sys;
use rubato_sys::{rb_pool, rb_pool_options};
use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::time::Duration;

/// A pool of threads.
///
/// ```
/// let pool = rubato::Pool::new(2)?;
/// let (a, b) = pool.join(|| 1 + 1, || 2 + 2);
/// assert_eq!((a, b), (2, 4));
/// # std::io::Result::Ok(())
/// ```
///
/// Dropping it waits until all queued work has run, except on a thread of the pool, where it ends in the background.
#[derive(Debug)]
pub struct Pool {
    raw: NonNull<rb_pool>,
    is_owned: bool,
}

// SAFETY: every function of the library takes a pool on any thread.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

/// The number of the calling thread in the pool whose task it runs: constant within a task, and no two tasks that run at the same
/// time have the same. `None` outside any pool.
///
/// ```
/// assert_eq!(rubato::current_worker(), None);
/// assert!(rubato::Pool::global().install(rubato::current_worker).is_some());
/// ```
pub fn current_worker() -> Option<usize> {
    // SAFETY: the record is this thread's.
    unsafe { sys::rb_current().as_ref().map(|worker| sys::rb_worker_number(worker) as usize) }
}

/// The options of a [`Pool`].
///
/// ```
/// let pool = rubato::Pool::builder().workers(3).name("render").build()?;
/// assert_eq!(pool.size(), 3);
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PoolBuilder {
    workers: u32,
    spares: Option<u32>,
    stack_size: usize,
    max_queued: usize,
    name: CString,
}

impl PoolBuilder {
    /// The number of workers. 0, the default: as many as CPUs may be used.
    pub fn workers(mut self, number: u32) -> Self {
        self.workers = number;
        self
    }

    /// The number of threads beyond the workers, in place of those that wait. The default is 1,024.
    pub fn spares(mut self, number: u32) -> Self {
        self.spares = Some(number);
        self
    }

    /// The size of each thread's stack in bytes. 0, the default: the system's.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = bytes;
        self
    }

    /// The number of queued tasks beyond which [`Pool::spawn`] waits. 0, the default: none.
    pub fn max_queued(mut self, number: usize) -> Self {
        self.max_queued = number;
        self
    }

    /// The beginning of the threads' names.
    ///
    /// # Panics
    ///
    /// If there is a zero in it.
    pub fn name(mut self, name: &str) -> Self {
        self.name = CString::new(name).expect("a name without zeros");
        self
    }

    /// Makes the pool.
    pub fn build(self) -> io::Result<Pool> {
        let mut raw = ptr::null_mut();
        // SAFETY: the options and the place are there during the call.
        let error = unsafe { sys::rb_pool_new(&self.options(), &mut raw) };
        match NonNull::new(raw) {
            Some(raw) if error == 0 => Ok(Pool { raw, is_owned: true }),
            _ => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    /// Sets the options of the global pool. `ResourceBusy`: Rust or C++ code has used it already.
    pub fn configure_global(self) -> io::Result<()> {
        // SAFETY: the options are there during the call.
        match unsafe { sys::rb_pool_configure_global(&self.options()) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    /// They refer to the builder.
    fn options(&self) -> rb_pool_options {
        let default = rb_pool_options::default();
        rb_pool_options {
            workers: self.workers,
            spares: self.spares.unwrap_or(default.spares),
            stack_size: self.stack_size,
            max_queued: self.max_queued,
            name: if self.name.is_empty() { ptr::null() } else { self.name.as_ptr() },
            ..default
        }
    }
}

impl Pool {
    /// A pool with a number of workers. 0: as many as CPUs may be used.
    pub fn new(workers: u32) -> io::Result<Pool> {
        Self::builder().workers(workers).build()
    }

    /// The options of a pool.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// The pool of the whole program. C++ code uses it as `rubato::pool::global()`.
    pub fn global() -> &'static Pool {
        static GLOBAL: OnceLock<Pool> = OnceLock::new();
        GLOBAL.get_or_init(|| {
            let mut raw = ptr::null_mut();
            // SAFETY: the place is there during the call.
            let error = unsafe { sys::rb_pool_global(&mut raw) };
            match NonNull::new(raw) {
                Some(raw) if error == 0 => Pool { raw, is_owned: false },
                _ => panic!("the global pool cannot be started: {}", io::Error::from_raw_os_error(-error)),
            }
        })
    }

    pub(crate) fn raw(&self) -> *mut rb_pool {
        self.raw.as_ptr()
    }

    /// The number of workers.
    pub fn size(&self) -> usize {
        // SAFETY: the pool lives.
        unsafe { sys::rb_pool_size(self.raw()) as usize }
    }

    /// Calls a closure on a thread of the pool, and waits. A thread of the pool calls it at once.
    pub fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        // SAFETY: the pool lives.
        unsafe { call::on_worker(self.raw(), |_| f()) }
    }

    /// [`join()`](crate::join) in this pool.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA,
        B: FnOnce() -> RB + Send,
        RB: Send,
    {
        // SAFETY: the pool lives.
        unsafe { join::join_in(self.raw(), a, b) }
    }

    /// [`scope()`](crate::scope) in this pool.
    pub fn scope<'scope, R>(&self, f: impl FnOnce(&Scope<'scope>) -> R) -> R {
        // SAFETY: the pool lives.
        unsafe { scope::scope_in(self.raw(), f) }
    }

    /// [`for_range()`](crate::for_range) in this pool.
    pub fn for_range(&self, range: Range<usize>, min_chunk: usize, f: impl Fn(Range<usize>) + Sync) {
        // SAFETY: the pool lives.
        unsafe { range::for_range_in(self.raw(), range, min_chunk, f) }
    }

    /// [`spawn()`](crate::spawn) in this pool.
    pub fn spawn<R: Send + 'static>(&self, f: impl FnOnce() -> R + Send + 'static) -> Task<R> {
        // SAFETY: the pool lives.
        unsafe { spawn::spawn_in(self.raw(), f) }
    }

    /// Waits for a moment at which nothing is queued or running, at most for a time. False: the time was over before.
    ///
    /// # Panics
    ///
    /// On a thread of the pool, which would wait for itself.
    pub fn wait_idle(&self, timeout: Option<Duration>) -> bool {
        const ETIMEDOUT: i32 = 110;
        let timeout = timeout.map_or(-1, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        // SAFETY: the pool lives.
        match unsafe { sys::rb_pool_wait_idle(self.raw(), timeout) } {
            0 => true,
            error if error == -ETIMEDOUT => false,
            error => panic!("wait_idle: {}", io::Error::from_raw_os_error(-error)),
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: the owner gives the handle up.
        unsafe {
            if self.is_owned && sys::rb_pool_free(self.raw()) != 0 {
                sys::rb_pool_release(self.raw());
            }
        }
    }
}
