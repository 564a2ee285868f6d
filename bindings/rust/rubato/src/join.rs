use crate::call;
use rubato_sys::{rb_current, rb_job, rb_pool, rb_pop_inline, rb_push_inline, rb_worker, RB_NOT_PUSHED};
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::addr_of_mut;
use std::thread;

/// Calls two closures, the second at the same time on another thread if one is free, and returns both results. The first runs on the
/// calling thread.
///
/// ```
/// let mut words = vec!["b", "a"];
/// let mut numbers = vec![2, 1];
/// rubato::join(|| words.sort(), || numbers.sort());
/// assert_eq!((words, numbers), (vec!["a", "b"], vec![1, 2]));
/// ```
///
/// # Panics
///
/// If the first panics, the second is dropped if no thread has begun it, and else waited for.
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // SAFETY: the record is this thread's; the global pool is never freed.
    unsafe {
        let worker = rb_current();
        if worker.is_null() {
            join_in(call::current_pool(), a, b)
        } else {
            join_on(worker, a, b)
        }
    }
}

/// # Safety
///
/// The pool lives.
pub(crate) unsafe fn join_in<A, B, RA, RB>(pool: *mut rb_pool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB + Send,
    RB: Send,
{
    // SAFETY: by this function's contract.
    unsafe { call::as_member(pool, |worker| join_on(worker, a, b)) }
}

/// The second closure, where a thief can find it.
#[repr(C)]
struct Latent<B, RB> {
    raw: UnsafeCell<MaybeUninit<rb_job>>,
    body: UnsafeCell<ManuallyDrop<B>>,
    /// Written by a thief.
    result: UnsafeCell<MaybeUninit<thread::Result<RB>>>,
}

impl<B: FnOnce() -> RB, RB> Latent<B, RB> {
    fn new(body: B) -> Self {
        let mut raw = MaybeUninit::<rb_job>::uninit();
        // SAFETY: a place within `raw`. The library fills in the rest.
        unsafe { addr_of_mut!((*raw.as_mut_ptr()).run).write(Some(Self::run)) };
        Latent {
            raw: UnsafeCell::new(raw),
            body: UnsafeCell::new(ManuallyDrop::new(body)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    unsafe extern "C" fn run(job: *mut rb_job, _thief: *mut rb_worker) {
        // SAFETY: the raw job is the first field, and the owner waits until this has returned.
        unsafe {
            let latent = &*job.cast::<Self>();
            let body = ManuallyDrop::take(&mut *latent.body.get());
            let result = call::caught(body);
            (*latent.result.get()).write(result);
        }
    }
}

/// Sees to the second closure if the first one panics.
struct Unjoined<'a, B: FnOnce() -> RB, RB> {
    latent: &'a Latent<B, RB>,
    worker: *mut rb_worker,
    how: c_int,
}

impl<B: FnOnce() -> RB, RB> Unjoined<'_, B, RB> {
    /// The second closure, or what it has returned on another thread.
    ///
    /// # Safety
    ///
    /// Once, by the owner.
    #[inline(always)]
    unsafe fn take(&self) -> Result<B, thread::Result<RB>> {
        // SAFETY: it is the newest job of this thread: what the first closure forked it has joined.
        unsafe {
            if self.how == RB_NOT_PUSHED || rb_pop_inline(self.worker, self.latent.raw.get().cast(), self.how) == 1 {
                Ok(ManuallyDrop::take(&mut *self.latent.body.get()))
            } else {
                Err((*self.latent.result.get()).assume_init_read())
            }
        }
    }
}

impl<B: FnOnce() -> RB, RB> Drop for Unjoined<'_, B, RB> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: the first closure unwinds, so nothing else takes the second.
        drop(unsafe { self.take() });
    }
}

/// # Safety
///
/// `worker` is the calling thread's record.
#[inline(always)]
unsafe fn join_on<A, B, RA, RB>(worker: *mut rb_worker, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA,
    B: FnOnce() -> RB,
{
    let latent = Latent::new(b);
    // SAFETY: the job stays in this frame until it was taken back or a thief has run it.
    let how = unsafe { rb_push_inline(worker, latent.raw.get().cast()) };
    let unjoined = Unjoined { latent: &latent, worker, how };
    let result_a = a();
    // SAFETY: once; the guard is forgotten.
    let second = unsafe { unjoined.take() };
    mem::forget(unjoined);
    let result_b = match second {
        Ok(b) => b(),
        Err(result) => call::value_or_resume(result),
    };
    (result_a, result_b)
}
