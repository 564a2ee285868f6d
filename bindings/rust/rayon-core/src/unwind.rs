//! Panics at the border to C, which they must not cross.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::{process, thread};

/// Calls `f`, and catches a panic of it. The state that a panic leaves behind is the caller's affair, since the panic is resumed
/// where the caller of the parallel function sees it.
pub(crate) fn halt_unwinding<F, R>(f: F) -> thread::Result<R>
where
    F: FnOnce() -> R,
{
    panic::catch_unwind(AssertUnwindSafe(f))
}

/// Goes on with a panic that was caught on another thread, without calling the panic hook again.
pub(crate) fn resume_unwinding(payload: Box<dyn Any + Send>) -> ! {
    panic::resume_unwind(payload)
}

/// The value, or the panic.
pub(crate) fn unwrap_or_resume<R>(result: thread::Result<R>) -> R {
    match result {
        Ok(value) => value,
        Err(payload) => resume_unwinding(payload),
    }
}

/// Ends the program because of a panic that no caller can see.
pub(crate) fn abort(reason: &str) -> ! {
    eprintln!("rayon-core: {reason}; the program aborts");
    process::abort()
}
