use crate::call::{self, FirstPanic};
use rubato_sys::{rb_for_range, rb_pool, rb_worker};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr;

/// Calls a closure for parts of a range, at the same time as far as threads are free. Each part but the last has at least `min_chunk`
/// elements; 0: as it comes.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// rubato::for_range(1..101, 10, |part| {
///     sum.fetch_add(part.sum::<usize>(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 5050);
/// ```
pub fn for_range(range: Range<usize>, min_chunk: usize, f: impl Fn(Range<usize>) + Sync) {
    // SAFETY: the pool of the task around the call, or the global one, outlives it.
    unsafe { for_range_in(call::current_pool(), range, min_chunk, f) }
}

/// # Safety
///
/// The pool lives.
pub(crate) unsafe fn for_range_in<F>(pool: *mut rb_pool, range: Range<usize>, min_chunk: usize, f: F)
where
    F: Fn(Range<usize>) + Sync,
{
    struct Loop<'a, F> {
        f: &'a F,
        begin: usize,
        panic: FirstPanic,
    }
    unsafe extern "C" fn run<F>(arg: *mut c_void, _worker: *mut rb_worker, lo: u64, hi: u64)
    where
        F: Fn(Range<usize>) + Sync,
    {
        // SAFETY: it is the loop below, which waits.
        let all = unsafe { &*arg.cast::<Loop<'_, F>>() };
        if all.panic.is_set() {
            return;
        }
        let part = all.begin + lo as usize..all.begin + hi as usize;
        if let Err(payload) = call::caught(|| (all.f)(part)) {
            all.panic.store(payload);
        }
    }
    let mut all = Loop { f: &f, begin: range.start, panic: FirstPanic::default() };
    // SAFETY: by this function's contract; the loop stays where it is until the call has returned.
    let error =
        unsafe { rb_for_range(pool, range.len() as u64, min_chunk as u64, run::<F>, ptr::from_mut(&mut all).cast()) };
    all.panic.resume();
    assert_eq!(error, 0, "the loop was stopped with the pool or the task around it");
}
