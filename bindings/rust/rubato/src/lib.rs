//! [Rubato](https://en.wikipedia.org/wiki/Tempo_rubato): one thread pool for a whole program, which C++ and Rust code share.
//!
//! ```
//! fn fibonacci(n: u32) -> u64 {
//!     if n < 2 {
//!         return n.into();
//!     }
//!     let (a, b) = rubato::join(|| fibonacci(n - 1), || fibonacci(n - 2));
//!     a + b
//! }
//! assert_eq!(fibonacci(20), 6765);
//! ```
//!
//! The functions of this module use the pool whose task calls them, and else the global one. A wait runs only what it waits for,
//! so a lock may be held across it. A thread outside a pool takes part in what it waits for.
//!
//! If a closure panics, what belongs to the same call and has not begun is dropped, what has begun is waited for, and
//! the panic goes on in the caller.

#![deny(missing_docs)]
#![deny(missing_debug_implementations)]
#![deny(unsafe_op_in_unsafe_fn)]

mod call;
mod join;
mod pool;
mod range;
mod scope;
mod spawn;

pub use join::join;
pub use pool::{current_worker, Pool, PoolBuilder};
pub use range::for_range;
pub use scope::{scope, Scope};
pub use spawn::{spawn, Cancelled, Task, TaskError};
