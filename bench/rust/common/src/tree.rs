//! The sum of a balanced binary tree: see `scenarios/tree.hpp`.

use crate::fork_join::warm_up;
use crate::measure::*;
use crate::work::{busy, busy_steps, keep};
use crate::Runtime;

struct Node {
    value: u64,
    left: Option<&'static Node>,
    right: Option<&'static Node>,
}

/// A tree in one piece of memory, in the order of a depth-first walk, in huge pages where there are any. Never freed.
fn grow(layers: u64) -> (&'static Node, usize) {
    fn fill(next: &mut *mut Node, layers: u64) -> &'static Node {
        let node = *next;
        unsafe {
            *next = node.add(1);
            node.write(Node {
                value: 1,
                left: None,
                right: None,
            });
            if layers > 1 {
                (*node).left = Some(fill(next, layers - 1));
                (*node).right = Some(fill(next, layers - 1));
            }
            &*node
        }
    }
    let nodes = (1usize << layers) - 1;
    let bytes = nodes * size_of::<Node>();
    unsafe {
        let memory = libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED, "no memory for {nodes} nodes");
        libc::madvise(memory, bytes, libc::MADV_HUGEPAGE);
        (fill(&mut memory.cast(), layers), nodes)
    }
}

#[inline(never)]
fn sum_of<const BUSY: bool, R: Runtime>(fork: &mut R::Fork<'_>, node: &Node, steps: u64) -> u64 {
    if BUSY {
        busy(steps);
    }
    let (l, r) = R::join(
        fork,
        |k| node.left.map_or(0, |n| sum_of::<BUSY, R>(k, n, steps)),
        |k| node.right.map_or(0, |n| sum_of::<BUSY, R>(k, n, steps)),
    );
    node.value + l + r
}

#[inline(never)]
fn sum_by_scopes<R: Runtime>(fork: &mut R::Fork<'_>, node: &Node) -> u64 {
    let (Some(left), Some(right)) = (node.left, node.right) else {
        return node.value;
    };
    let (mut l, mut r) = (0, 0);
    R::scope_of_two(
        fork,
        |k| l = sum_by_scopes::<R>(k, left),
        |k| r = sum_by_scopes::<R>(k, right),
    );
    node.value + l + r
}

pub fn scope_tree<R: Runtime>(r: &mut R, layers: u64) -> Measurement {
    tree_with(r, layers, sum_by_scopes::<R>)
}

pub fn tree<const BUSY: bool, R: Runtime>(r: &mut R, layers: u64) -> Measurement {
    let steps = busy_steps();
    tree_with(r, layers, move |fork, root| sum_of::<BUSY, R>(fork, root, steps))
}

fn tree_with<R: Runtime>(
    r: &mut R,
    layers: u64,
    sum: impl Fn(&mut R::Fork<'_>, &Node) -> u64 + Sync,
) -> Measurement {
    let (root, nodes) = grow(layers);
    let repeats = ((1usize << 24) / nodes).max(1);
    warm_up(r);
    r.run(|fork| {
        timed((nodes * repeats) as f64, || {
            (0..repeats).map(|_| keep(sum(fork, root))).sum()
        })
    })
}
