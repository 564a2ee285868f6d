use crate::context::FnContext;
use crate::pace::Pace;
use crate::registry;
use crate::unwind;
use rubato_sys::{rb_is_empty_inline, rb_job, rb_pop_inline, rb_push_inline, rb_worker, RB_NOT_PUSHED};
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::addr_of_mut;
use std::thread;

/// Calls two closures, the second on another thread if one is free, and returns both results.
///
/// ```
/// let mut words = vec!["b", "a"];
/// let mut numbers = vec![2, 1];
/// rayon_core::join(|| words.sort(), || numbers.sort());
/// assert_eq!((words, numbers), (vec!["a", "b"], vec![1, 2]));
/// ```
///
/// On a thread outside any pool both run in the global pool. While the caller waits for the second, it runs only work that
/// this one has forked.
///
/// # Panics
///
/// Both closures run in any case. Then the panic of one of them goes on; if both panicked, that of the first.
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| oper_a(), |_| oper_b())
}

/// [`join()`] for closures that want to know whether they run on another thread than the caller's.
///
/// ```
/// let (a, b) = rayon_core::join_context(|here| here.migrated(), |there| there.migrated());
/// # let _ = (a, b);
/// ```
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: the record belongs to this thread, which stays in the pool until the closure has returned.
    registry::in_worker(|worker, injected| unsafe { join_on(worker, oper_a, oper_b, injected) })
}

/// The second closure, where a thief can find it.
#[repr(C)]
struct Latent<B, RB> {
    raw: UnsafeCell<MaybeUninit<rb_job>>,
    body: UnsafeCell<ManuallyDrop<B>>,
    /// Written by a thief.
    result: UnsafeCell<MaybeUninit<thread::Result<RB>>>,
}

impl<B, RB> Latent<B, RB>
where
    B: FnOnce(FnContext) -> RB,
{
    #[inline(always)]
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

    #[inline(always)]
    fn job(&self) -> *mut rb_job {
        self.raw.get().cast()
    }

    /// # Safety
    ///
    /// Once, by the thread that has the job.
    #[inline(always)]
    unsafe fn take_body(&self) -> B {
        // SAFETY: by this function's contract.
        unsafe { ManuallyDrop::take(&mut *self.body.get()) }
    }

    /// # Safety
    ///
    /// Once, when a thief has run the job.
    unsafe fn take_result(&self) -> thread::Result<RB> {
        // SAFETY: by this function's contract.
        unsafe { (*self.result.get()).assume_init_read() }
    }

    unsafe extern "C" fn run(job: *mut rb_job, _thief: *mut rb_worker) {
        // SAFETY: the raw job is the first field of the latent one, and the owner waits until this has returned.
        unsafe {
            let latent = &*job.cast::<Self>();
            let body = latent.take_body();
            let result = unwind::halt_unwinding(|| body(FnContext::new(true)));
            (*latent.result.get()).write(result);
        }
    }
}

/// Sees to the second closure if the first one panics.
struct Unjoined<'a, B, RB>
where
    B: FnOnce(FnContext) -> RB,
{
    latent: &'a Latent<B, RB>,
    worker: *mut rb_worker,
    /// What the push has returned.
    how: c_int,
    injected: bool,
}

impl<B, RB> Unjoined<'_, B, RB>
where
    B: FnOnce(FnContext) -> RB,
{
    /// Whether the owner has the second closure.
    #[inline(always)]
    unsafe fn take_back(&self) -> bool {
        // SAFETY: it is the newest job of this thread: what the first closure forked it has joined.
        self.how == RB_NOT_PUSHED || unsafe { rb_pop_inline(self.worker, self.latent.job(), self.how) } == 1
    }
}

impl<B, RB> Drop for Unjoined<'_, B, RB>
where
    B: FnOnce(FnContext) -> RB,
{
    #[cold]
    fn drop(&mut self) {
        // SAFETY: the first closure unwinds, so nothing else takes the second or its result.
        let result = unsafe {
            if self.take_back() {
                let body = self.latent.take_body();
                unwind::halt_unwinding(|| body(FnContext::new(self.injected)))
            } else {
                self.latent.take_result()
            }
        };
        drop(result);
    }
}

/// # Safety
///
/// `worker` is the calling thread's record.
#[inline(always)]
unsafe fn join_on<A, B, RA, RB>(worker: *mut rb_worker, oper_a: A, oper_b: B, injected: bool) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA,
    B: FnOnce(FnContext) -> RB,
{
    // SAFETY: by this function's contract.
    let is_outermost = unsafe { rb_is_empty_inline(worker) };
    let latent = Latent::new(oper_b);
    // SAFETY: the job stays in this frame until it was taken back or a thief has run it.
    let how = unsafe { rb_push_inline(worker, latent.job()) };
    let unjoined = Unjoined { latent: &latent, worker, how, injected };
    // SAFETY: by this function's contract.
    let pace = is_outermost.then(|| unsafe { Pace::begin(worker) });
    let result_a = oper_a(FnContext::new(injected));
    // SAFETY: as above; each branch takes what it may take, once.
    let result_b = unsafe {
        let is_back = unjoined.take_back();
        mem::forget(unjoined);
        if is_back {
            latent.take_body()(FnContext::new(injected))
        } else {
            unwind::unwrap_or_resume(latent.take_result())
        }
    };
    if let Some(pace) = pace {
        pace.end();
    }
    (result_a, result_b)
}
