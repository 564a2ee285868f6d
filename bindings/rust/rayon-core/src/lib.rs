//! The interface of rayon-core 1.13 on the workers of Rubato.
//!
//! A program keeps `rayon` and gets Rubato's pool by two lines in its `Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { path = "rubato/bindings/rust/rayon-core" }
//! ```
//!
//! ```
//! fn fibonacci(n: u32) -> u64 {
//!     if n < 2 {
//!         return n.into();
//!     }
//!     let (a, b) = rayon_core::join(|| fibonacci(n - 1), || fibonacci(n - 2));
//!     a + b
//! }
//! assert_eq!(fibonacci(20), 6765);
//! ```
//!
//! The global pool is Rubato's, which C++ code of the process uses too: one set of workers for both. A wait in
//! [`join()`] or [`scope()`] runs only what it waits for. `docs/rust.md` in Rubato's tree lists what differs.

#![deny(missing_docs)]
#![deny(missing_debug_implementations)]
#![deny(unreachable_pub)]
#![deny(unsafe_op_in_unsafe_fn)]

mod broadcast;
mod builder;
mod context;
mod error;
mod job;
mod join;
mod latch;
mod pace;
mod registry;
mod scope;
mod spawn;
mod thread_pool;
mod unwind;

pub use broadcast::{broadcast, spawn_broadcast, BroadcastContext};
#[allow(deprecated)]
pub use builder::{initialize, Configuration};
pub use builder::{ThreadBuilder, ThreadPoolBuilder};
pub use context::FnContext;
pub use error::ThreadPoolBuildError;
pub use join::{join, join_context};
pub use scope::{in_place_scope, in_place_scope_fifo, scope, scope_fifo, Scope, ScopeFifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads, yield_local,
    yield_now, ThreadPool, Yield,
};
