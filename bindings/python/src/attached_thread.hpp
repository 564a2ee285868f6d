// The thread state that CPython has of a thread of Rubato.
#pragma once

namespace rubato::python {

/// Gives the calling thread a Python thread state which it keeps until it ends, unless it has one. So
/// PyGILState_Ensure() finds that state at each call, and what the thread keeps in threading.local or in the
/// context of contextvars is there in its next call, too. Does not leave the interpreter's lock held.
void attach_this_thread();

/// Deletes that state. What the thread keeps is destroyed here, and not when the thread ends, so after the
/// call it calls no Python any more.
void detach_this_thread();

/// To be called once: from now on no fork() comes while a thread gets its state.
void let_forks_wait_for_attachments();

/// From now on a thread that ends leaves its state to the interpreter, which is about to end.
void stop_detaching_threads() noexcept;

} // namespace rubato::python
