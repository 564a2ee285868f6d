//! Pools that C or C++ code has made: the global one, and others.

use rayon_core::{current_num_threads, current_thread_index, ThreadPoolBuilder};
use rubato_sys as sys;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;

type Counting = unsafe extern "C" fn(*mut c_void, *mut sys::rb_worker);

/// What a call on a worker of such a pool adds to the counter that it gets.
fn counted_on_pool(options: &sys::rb_pool_options, f: Counting) -> usize {
    let mut pool = ptr::null_mut();
    let mut count = AtomicUsize::new(0);
    // SAFETY: each call is within its contract.
    unsafe {
        assert_eq!(sys::rb_pool_new(options, &mut pool), 0);
        assert_eq!(sys::rb_call(pool, f, ptr::from_mut(&mut count).cast()), 0);
        assert_eq!(sys::rb_pool_free(pool), 0);
    }
    count.into_inner()
}

unsafe extern "C" fn use_rayon(arg: *mut c_void, worker: *mut sys::rb_worker) {
    // SAFETY: the test waits; the record is this thread's.
    let (calls, number) = unsafe { (&*arg.cast::<AtomicUsize>(), sys::rb_worker_number(worker)) };
    assert_eq!(current_thread_index(), Some(number as usize));
    let (a, b) = rayon_core::join(current_num_threads, current_num_threads);
    assert_eq!((a, b), (3, 3));
    rayon_core::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|_| {
                calls.fetch_add(1, SeqCst);
            });
        }
    });
    let (sender, receiver) = mpsc::channel();
    rayon_core::spawn(move || sender.send(current_num_threads()).unwrap());
    rayon_core::broadcast(|context| assert_eq!(context.num_threads(), 3));
    while receiver.try_recv() != Ok(3) {
        rayon_core::yield_now();
    }
}

#[test]
fn closures_use_the_pool_whose_task_they_are() {
    let options = sys::rb_pool_options { workers: 3, spares: 0, ..Default::default() };
    assert_eq!(counted_on_pool(&options, use_rayon), 10);
}

#[test]
fn global_pool_is_taken_as_it_is() {
    let options = sys::rb_pool_options { workers: 3, ..Default::default() };
    let mut pool = ptr::null_mut();
    // SAFETY: each call is within its contract.
    unsafe {
        assert_eq!(sys::rb_pool_configure_global(&options), 0);
        assert_eq!(sys::rb_pool_global(&mut pool), 0);
    }
    assert_eq!(current_num_threads(), 3);
    assert!(ThreadPoolBuilder::new().num_threads(2).build_global().is_err());
    // SAFETY: the record is the calling thread's.
    let (a, b) = rayon_core::join(|| unsafe { sys::rb_worker_pool(sys::rb_current()) } as usize, || 1);
    assert_eq!((a, b), (pool as usize, 1));
    assert_eq!(rayon_core::broadcast(|context| context.index()), [0, 1, 2]);
}

unsafe extern "C" fn scope_in_a_stopped_scope(arg: *mut c_void, worker: *mut sys::rb_worker) {
    /// A child of C++ code's scope, in the frame below.
    #[repr(C)]
    struct Child {
        node: sys::rb_child,
        outer: AtomicPtr<sys::rb_scope>,
        begun: *const AtomicUsize,
    }
    unsafe extern "C" fn run(node: *mut sys::rb_child, worker: *mut sys::rb_worker) {
        assert!(!worker.is_null());
        // SAFETY: the node is the first field of a child, which waits in the frame below.
        let (outer, begun) = unsafe { (&(*node.cast::<Child>()).outer, &*(*node.cast::<Child>()).begun) };
        rayon_core::scope(|scope| {
            // SAFETY: the scope is open.
            unsafe { sys::rb_scope_stop(outer.load(SeqCst)) };
            for _ in 0..10 {
                scope.spawn(|_| {
                    begun.fetch_add(1, SeqCst);
                });
            }
        });
    }
    let mut outer = MaybeUninit::<sys::rb_scope>::uninit();
    let node = sys::rb_child { opaque: [ptr::null_mut(); 4], run: Some(run) };
    let mut child = Child { node, outer: AtomicPtr::new(outer.as_mut_ptr()), begun: arg.cast() };
    // SAFETY: scope and child stay here until the end.
    unsafe {
        sys::rb_scope_begin(worker, outer.as_mut_ptr(), sys::RB_SCOPE_FIFO);
        sys::rb_scope_spawn(outer.as_mut_ptr(), ptr::from_mut(&mut child).cast());
        sys::rb_scope_end(outer.as_mut_ptr());
    }
}

#[test]
fn regression_children_begin_in_a_stopped_scope_of_cpp() {
    let options = sys::rb_pool_options { workers: 2, ..Default::default() };
    assert_eq!(counted_on_pool(&options, scope_in_a_stopped_scope), 10);
}
