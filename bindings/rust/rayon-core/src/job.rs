//! Spawned closures, and the order in which a thread runs its own.
//!
//! Rubato runs queued tasks oldest first; rayon's `spawn` promises the newest first on the thread that spawned them. So each
//! spawned job is two things: an entry in the *home* of the thread that spawned it, and a queued task, which says only that
//! the home has one more entry. A thread that runs such a task of its own home takes the newest entry, and a thief the oldest.

use crate::registry;
use rubato_sys::{rb_enqueue, rb_pool, rb_task, rb_worker, RB_QUEUE_FIFO};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Mutex;

/// The beginning of every heap job.
#[repr(C)]
pub(crate) struct Job {
    task: rb_task,
    /// The home whose entry the task stands for; null: the task stands for this job itself.
    home: *const Home,
    /// One for the task, one for the entry.
    references: AtomicU8,
    /// Calls the closure, or only drops it.
    finish: unsafe fn(job: *mut Job, how: Finish),
    free: unsafe fn(job: *mut Job),
}

#[derive(Clone, Copy, PartialEq)]
enum Finish {
    Call,
    Drop,
}

#[repr(C)]
struct JobWith<F> {
    job: Job,
    body: ManuallyDrop<F>,
}

impl Job {
    /// The closure must not panic: it catches its own panics.
    fn allocate<F: FnOnce() + Send>(home: *const Home, body: F) -> *mut Job {
        unsafe fn finish<F: FnOnce()>(job: *mut Job, how: Finish) {
            // SAFETY: `job` is the first field of a JobWith<F>, whose body is taken once, by the one that has the entry.
            let body = unsafe { ManuallyDrop::take(&mut (*job.cast::<JobWith<F>>()).body) };
            if how == Finish::Call {
                body();
            }
        }
        unsafe fn free<F>(job: *mut Job) {
            // SAFETY: it was made by Box::new below.
            drop(unsafe { Box::from_raw(job.cast::<JobWith<F>>()) });
        }
        let job = Job {
            task: rb_task { opaque: [ptr::null_mut(); 4], run: Some(run_task) },
            home,
            references: AtomicU8::new(if home.is_null() { 1 } else { 2 }),
            finish: finish::<F>,
            free: free::<F>,
        };
        Box::into_raw(Box::new(JobWith { job, body: ManuallyDrop::new(body) })).cast()
    }

    unsafe fn release(job: *mut Job) {
        // Pairs with the other reference's decrement: the last one frees what the other has finished with.
        // SAFETY: the caller gives its reference up.
        unsafe {
            if (*job).references.fetch_sub(1, Ordering::AcqRel) == 1 {
                ((*job).free)(job);
            }
        }
    }
}

unsafe extern "C" fn run_task(task: *mut rb_task, worker: *mut rb_worker) {
    let job = task.cast::<Job>();
    let how = if worker.is_null() { Finish::Drop } else { Finish::Call };
    // SAFETY: the task is a job's first field, and this is the task's reference. A home lives as long as its pool, which
    // is not over while it has tasks.
    unsafe {
        match (*job).home.as_ref() {
            None => ((*job).finish)(job, how),
            Some(home) => {
                // Null: a call of Home::run_all() was faster.
                if let Some(entry) = home.take(!worker.is_null() && home.is_of(worker)) {
                    ((*entry).finish)(entry, how);
                    Job::release(entry);
                }
            }
        }
        Job::release(job);
    }
}

/// In which order a thread runs what it has spawned.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Order {
    Lifo,
    Fifo,
}

/// What one thread of a pool has spawned and no thread has begun.
pub(crate) struct Home {
    number: u32,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    /// In the order of the calls. `None` stands for the oldest job of `fifo`.
    all: VecDeque<Option<*mut Job>>,
    fifo: VecDeque<*mut Job>,
}

// SAFETY: the pointers are to heap jobs, whose closures are Send.
unsafe impl Send for Home {}
// SAFETY: the entries are behind a mutex.
unsafe impl Sync for Home {}

impl Home {
    pub(crate) fn new(number: u32) -> Self {
        Home { number, entries: Mutex::default() }
    }

    fn is_of(&self, worker: *mut rb_worker) -> bool {
        // SAFETY: the record of the calling thread, which runs a task.
        unsafe { rubato_sys::rb_worker_number(worker) == self.number }
    }

    fn add(&self, job: *mut Job, order: Order) {
        let mut entries = self.entries.lock().unwrap();
        if order == Order::Fifo {
            entries.fifo.push_back(job);
            entries.all.push_back(None);
        } else {
            entries.all.push_back(Some(job));
        }
    }

    fn take(&self, newest: bool) -> Option<*mut Job> {
        let mut entries = self.entries.lock().unwrap();
        let entry = if newest { entries.all.pop_back() } else { entries.all.pop_front() };
        entry.and_then(|job| job.or_else(|| entries.fifo.pop_front()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.lock().unwrap().all.is_empty()
    }

    /// Runs the newest job of the calling thread's own home. False: there was none.
    pub(crate) fn run_one(&self) -> bool {
        self.take(true).is_some_and(|job| {
            // SAFETY: the entry is this call's. Its task finds one entry less.
            unsafe {
                ((*job).finish)(job, Finish::Call);
                Job::release(job);
            }
            true
        })
    }

    /// Runs all jobs of the calling thread's own home, and what they spawn there.
    pub(crate) fn run_all(&self) {
        while self.run_one() {}
    }
}

/// Queues a closure that catches its own panics. In a pool that has ended it is dropped.
///
/// # Safety
///
/// The pool lives, and what the closure borrows lives until it was called or dropped.
pub(crate) unsafe fn spawn<F>(pool: *mut rb_pool, order: Order, body: F)
where
    F: FnOnce() + Send,
{
    // SAFETY: by this function's contract.
    unsafe {
        let home = registry::own_home(pool);
        let job = Job::allocate(home.map_or(ptr::null(), ptr::from_ref), body);
        if let Some(home) = home {
            home.add(job, order);
        }
        if rb_enqueue(pool, job.cast(), RB_QUEUE_FIFO) != 0 {
            // The node is untouched.
            run_task(job.cast(), ptr::null_mut());
        }
    }
}
