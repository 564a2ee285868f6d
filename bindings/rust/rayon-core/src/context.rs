use std::marker::PhantomData;

/// What [`join_context`](crate::join_context) tells its closures.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
    /// Neither `Send` nor `Sync`: it speaks of the thread that it was made on.
    _marker: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    pub(crate) fn new(migrated: bool) -> Self {
        FnContext { migrated, _marker: PhantomData }
    }

    /// Whether the closure runs on another thread than the one that called `join_context`.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}
