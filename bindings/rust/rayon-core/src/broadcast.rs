use crate::latch::CountLatch;
use crate::registry;
use crate::spawn::Known;
use crate::unwind;
use rubato_sys as sys;
use rubato_sys::{rb_pool, rb_task, rb_worker};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;
use std::{fmt, ptr, thread};

/// Calls a closure on each thread of the caller's pool, or from outside of the global one, and returns all results in the order of the
/// threads' indices.
///
/// ```
/// let indices = rayon_core::broadcast(|context| context.index());
/// assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
/// ```
///
/// A thread that has a task of the pool calls it after that task. A panic goes on in the caller when all calls have ended.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    // SAFETY: the thread is in its pool until this function has returned.
    unsafe {
        let here = registry::current();
        broadcast_on(here.pool, here.worker, &op)
    }
}

/// [`broadcast()`] that does not wait.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    // SAFETY: the thread is in its pool until this function has returned.
    unsafe {
        let here = registry::current();
        let known = Known(here.registry.map_or(ptr::null(), ptr::from_ref));
        spawn_broadcast_on(here.pool, move |context| {
            if let Err(payload) = unwind::halt_unwinding(|| op(context)) {
                known.handle_panic(payload);
            }
        });
    }
}

/// On which thread of how many a call of a broadcast is.
pub struct BroadcastContext<'a> {
    index: usize,
    num_threads: usize,
    /// Neither `Send` nor `Sync`: it speaks of its thread.
    _marker: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    fn new(index: u32, threads: u32) -> Self {
        BroadcastContext { index: index as usize, num_threads: threads as usize, _marker: PhantomData }
    }

    /// The index of the thread.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of threads that get a call.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.num_threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index)
            .field("num_threads", &self.num_threads)
            .finish_non_exhaustive()
    }
}

/// A thread's broadcast comes after what it has spawned.
fn run_spawned() {
    // SAFETY: the thread runs a task of its pool.
    unsafe {
        if let Some(home) = registry::own_home(registry::current().pool) {
            home.run_all();
        }
    }
}

/// The calls of one broadcast that is waited for.
struct Calls<'a, OP, R> {
    op: &'a OP,
    /// In boxes, as they are made one by one and their tasks run meanwhile.
    #[allow(clippy::vec_box)]
    nodes: Vec<Box<CallNode<'a, OP, R>>>,
    latch: CountLatch,
}

#[repr(C)]
struct CallNode<'a, OP, R> {
    task: rb_task,
    calls: *const Calls<'a, OP, R>,
    index: u32,
    threads: u32,
    result: Option<thread::Result<R>>,
}

/// # Safety
///
/// The pool lives, and `worker` is null or the calling thread's record.
pub(crate) unsafe fn broadcast_on<OP, R>(pool: *mut rb_pool, worker: *mut rb_worker, op: &OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    unsafe extern "C" fn make<OP, R>(arg: *mut c_void, index: u32, threads: u32) -> *mut rb_task
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        let calls = arg.cast::<Calls<'_, OP, R>>();
        // SAFETY: only the caller's thread touches the vector, and it waits for the tasks before it frees them.
        unsafe {
            (*calls).latch.increment();
            let task = rb_task { opaque: [ptr::null_mut(); 4], run: Some(run::<OP, R>) };
            let nodes = &mut (*calls).nodes;
            nodes.push(Box::new(CallNode { task, calls, index, threads, result: None }));
            ptr::from_mut::<CallNode<'_, OP, R>>(nodes.last_mut().unwrap()).cast()
        }
    }
    unsafe extern "C" fn run<OP, R>(task: *mut rb_task, worker: *mut rb_worker)
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        // SAFETY: the task is the node's first field; the node and the calls are there until the latch is over.
        unsafe {
            let node = task.cast::<CallNode<'_, OP, R>>();
            let calls = (*node).calls;
            if !worker.is_null() {
                run_spawned();
                let op = (*calls).op;
                let context = BroadcastContext::new((*node).index, (*node).threads);
                (*node).result = Some(unwind::halt_unwinding(|| op(context)));
            }
            CountLatch::count_down(ptr::addr_of!((*calls).latch));
        }
    }

    let mut calls = Calls { op, nodes: Vec::new(), latch: CountLatch::new(1) };
    let place = ptr::from_mut(&mut calls);
    // SAFETY: the calls stay where they are until the latch is over.
    unsafe {
        let error = sys::rb_spawn_broadcast(pool, make::<OP, R>, place.cast());
        assert_eq!(error, 0, "the pool has ended");
        CountLatch::count_down(ptr::addr_of!((*place).latch));
        (*ptr::addr_of!((*place).latch)).wait(worker);
    }
    let mut nodes = calls.nodes;
    nodes.sort_unstable_by_key(|node| node.index);
    let results = nodes.into_iter().map(|node| node.result.expect("the pool has ended"));
    results.map(unwind::unwrap_or_resume).collect()
}

#[repr(C)]
struct SpawnedNode<OP> {
    task: rb_task,
    op: Arc<OP>,
    index: u32,
    threads: u32,
}

/// Queues a call for each thread. The closure catches its own panics.
///
/// # Safety
///
/// The pool lives, and what the closure borrows lives until all copies of it are dropped.
pub(crate) unsafe fn spawn_broadcast_on<OP>(pool: *mut rb_pool, op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync,
{
    unsafe extern "C" fn make<OP>(arg: *mut c_void, index: u32, threads: u32) -> *mut rb_task
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync,
    {
        // SAFETY: it is what is passed below.
        let op = unsafe { Arc::clone(&*arg.cast::<Arc<OP>>()) };
        let task = rb_task { opaque: [ptr::null_mut(); 4], run: Some(run::<OP>) };
        Box::into_raw(Box::new(SpawnedNode { task, op, index, threads })).cast()
    }
    unsafe extern "C" fn run<OP>(task: *mut rb_task, worker: *mut rb_worker)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync,
    {
        // SAFETY: it comes from Box::into_raw above, once.
        let node = *unsafe { Box::from_raw(task.cast::<SpawnedNode<OP>>()) };
        if !worker.is_null() {
            run_spawned();
            (node.op)(BroadcastContext::new(node.index, node.threads));
        }
    }
    let mut shared = Arc::new(op);
    // SAFETY: by this function's contract.
    unsafe { sys::rb_spawn_broadcast(pool, make::<OP>, ptr::from_mut(&mut shared).cast()) };
}
