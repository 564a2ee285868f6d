//! The C interface of Rubato, as `include/rubato/c/` declares it. Its comments say what each function does.
//!
//! Callbacks must not unwind: a panic that leaves one ends the program.

#![no_std]
#![allow(non_camel_case_types)]

mod inline;

pub use inline::*;

use core::ffi::{c_char, c_int, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// The version of the interface that this crate declares; [`rb_abi_version`] tells that of the library.
pub const RB_ABI_VERSION: u32 = 1;

macro_rules! opaque {
    ($($(#[$about:meta])* $name:ident),*) => {$(
        $(#[$about])*
        #[repr(C)]
        pub struct $name {
            _bytes: [u8; 0],
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// A pool of threads.
    rb_pool,
    /// The record of a thread in a pool.
    rb_worker,
    /// A thread that the program is to make.
    rb_thread,
    /// The result of a function that runs on a pool.
    rb_future
}

/// A half of a join. It returns 0, or, if it failed, not 0.
pub type rb_half = unsafe extern "C" fn(arg: *mut c_void, worker: *mut rb_worker, migrated: c_int) -> c_int;
/// A function that is called on a thread of a pool.
pub type rb_call_function = unsafe extern "C" fn(arg: *mut c_void, worker: *mut rb_worker);
/// Makes the task for one of several threads.
pub type rb_make_task = unsafe extern "C" fn(arg: *mut c_void, position: u32, threads: u32) -> *mut rb_task;
/// A part of a loop.
pub type rb_range_function = unsafe extern "C" fn(arg: *mut c_void, worker: *mut rb_worker, lo: u64, hi: u64);

/// A latent job, in the frame of its owner.
#[repr(C)]
pub struct rb_job {
    pub opaque: [*mut c_void; 6],
    pub run: Option<unsafe extern "C" fn(job: *mut rb_job, thief: *mut rb_worker)>,
}

/// A queued task.
#[repr(C)]
pub struct rb_task {
    pub opaque: [*mut c_void; 4],
    pub run: Option<unsafe extern "C" fn(node: *mut rb_task, worker: *mut rb_worker)>,
}

/// A child of a scope.
#[repr(C)]
pub struct rb_child {
    pub opaque: [*mut c_void; 4],
    pub run: Option<unsafe extern "C" fn(node: *mut rb_child, worker: *mut rb_worker)>,
}

/// A scope, in the caller's memory.
#[repr(C)]
pub struct rb_scope {
    pub opaque: [u64; 48],
}

/// A latch, in the caller's memory.
#[repr(C)]
pub struct rb_latch {
    pub opaque: [u64; 8],
}

pub const RB_JOIN_SKIPPED: c_int = 1;
pub const RB_QUEUE_FIFO: c_int = 0;
pub const RB_QUEUE_LIFO: c_int = 1;
pub const RB_SCOPE_FIFO: c_int = 0;
pub const RB_SCOPE_LIFO: c_int = 1;
pub const RB_SCOPE_UNSTOPPED: c_int = 2;
pub const RB_DRAIN: c_int = 0;
pub const RB_DISCARD: c_int = 1;
pub const RB_POOL_NO_WORKERS: u32 = 1;
pub const RB_POOL_START_ALL: u32 = 2;
pub const RB_POOL_JOINS_CALLER: u32 = 4;
pub const RB_SPARES_DEFAULT: u32 = 1024;

/// The options of a pool.
#[repr(C)]
pub struct rb_pool_options {
    pub size: usize,
    pub workers: u32,
    pub spares: u32,
    pub flags: u32,
    pub stack_size: usize,
    pub max_queued: usize,
    pub search_ns: i64,
    pub name: *const c_char,
    pub arg: *mut c_void,
    pub on_start: Option<unsafe extern "C" fn(arg: *mut c_void, number: u32)>,
    pub on_exit: Option<unsafe extern "C" fn(arg: *mut c_void, number: u32)>,
    pub make_thread: Option<unsafe extern "C" fn(arg: *mut c_void, thread: *mut rb_thread) -> c_int>,
    pub release: Option<unsafe extern "C" fn(arg: *mut c_void)>,
}

impl Default for rb_pool_options {
    fn default() -> Self {
        rb_pool_options {
            size: core::mem::size_of::<rb_pool_options>(),
            workers: 0,
            spares: RB_SPARES_DEFAULT,
            flags: 0,
            stack_size: 0,
            max_queued: 0,
            search_ns: -1,
            name: core::ptr::null(),
            arg: core::ptr::null_mut(),
            on_start: None,
            on_exit: None,
            make_thread: None,
            release: None,
        }
    }
}

extern "C" {
    pub fn rb_abi_version() -> u32;
    pub fn rb_current() -> *mut rb_worker;
    pub fn rb_worker_number(worker: *const rb_worker) -> u32;
    pub fn rb_worker_pool(worker: *const rb_worker) -> *mut rb_pool;

    pub fn rb_join(worker: *mut rb_worker, a: rb_half, a_arg: *mut c_void, b: rb_half, b_arg: *mut c_void) -> c_int;
    pub fn rb_push(worker: *mut rb_worker, job: *mut rb_job) -> c_int;
    pub fn rb_pop(worker: *mut rb_worker, job: *mut rb_job) -> c_int;
    pub fn rb_notify(worker: *mut rb_worker);
    pub fn rb_for_range(pool: *mut rb_pool, n: u64, min_chunk: u64, f: rb_range_function, arg: *mut c_void) -> c_int;

    pub fn rb_pool_new(options: *const rb_pool_options, made: *mut *mut rb_pool) -> c_int;
    pub fn rb_pool_global(pool: *mut *mut rb_pool) -> c_int;
    pub fn rb_pool_configure_global(options: *const rb_pool_options) -> c_int;
    pub fn rb_pool_free(pool: *mut rb_pool) -> c_int;
    pub fn rb_pool_release(pool: *mut rb_pool) -> c_int;
    pub fn rb_pool_leave(pool: *mut rb_pool) -> c_int;
    pub fn rb_pool_request_shutdown(pool: *mut rb_pool, how: c_int) -> c_int;
    pub fn rb_pool_resize(pool: *mut rb_pool, workers: u32) -> c_int;
    pub fn rb_pool_wait_idle(pool: *mut rb_pool, timeout_ns: i64) -> c_int;
    pub fn rb_pool_size(pool: *const rb_pool) -> u32;
    pub fn rb_pool_slots(pool: *const rb_pool) -> u32;

    pub fn rb_thread_number(thread: *const rb_thread) -> u32;
    pub fn rb_thread_name(thread: *const rb_thread, name: *mut c_char);
    pub fn rb_thread_run(thread: *mut rb_thread);

    pub fn rb_scope_begin(worker: *mut rb_worker, scope: *mut rb_scope, order: c_int);
    pub fn rb_scope_begin_on(pool: *mut rb_pool, scope: *mut rb_scope, order: c_int) -> c_int;
    pub fn rb_scope_spawn(scope: *mut rb_scope, node: *mut rb_child);
    pub fn rb_scope_wait(scope: *mut rb_scope);
    pub fn rb_scope_end(scope: *mut rb_scope) -> c_int;
    pub fn rb_scope_stop(scope: *mut rb_scope);

    pub fn rb_enqueue(pool: *mut rb_pool, node: *mut rb_task, order: c_int) -> c_int;
    pub fn rb_call(pool: *mut rb_pool, f: rb_call_function, arg: *mut c_void) -> c_int;
    pub fn rb_run(pool: *mut rb_pool, f: rb_call_function, arg: *mut c_void) -> c_int;
    pub fn rb_spawn_broadcast(pool: *mut rb_pool, make: rb_make_task, arg: *mut c_void) -> c_int;
    pub fn rb_run_one(worker: *mut rb_worker) -> c_int;
    pub fn rb_stop_requested(worker: *mut rb_worker) -> c_int;

    pub fn rb_spawn(
        pool: *mut rb_pool,
        f: unsafe extern "C" fn(arg: *mut c_void) -> *mut c_void,
        arg: *mut c_void,
        made: *mut *mut rb_future,
    ) -> c_int;
    pub fn rb_future_wait(future: *mut rb_future, result: *mut *mut c_void) -> c_int;
    pub fn rb_future_is_ready(future: *const rb_future) -> c_int;
    pub fn rb_future_cancel(future: *mut rb_future);
    pub fn rb_future_free(future: *mut rb_future);

    pub fn rb_latch_init(latch: *mut rb_latch, count: u32) -> c_int;
    pub fn rb_latch_count_down(latch: *mut rb_latch, n: u32);
    pub fn rb_latch_is_open(latch: *const rb_latch) -> c_int;
    pub fn rb_latch_wait(latch: *mut rb_latch);
    pub fn rb_latch_destroy(latch: *mut rb_latch);

    pub fn rb_blocking_begin(worker: *mut rb_worker) -> *mut c_void;
    pub fn rb_blocking_end(worker: *mut rb_worker, seat: *mut c_void);
}
