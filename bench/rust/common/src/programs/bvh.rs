//! `scenarios/programs/bvh.hpp`.

use super::{unit_at, Programs, Shared};
use crate::measure::{timed, Measurement};

type Vec3 = [f32; 3];

fn plus(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn scaled(v: Vec3, by: f32) -> Vec3 {
    [v[0] * by, v[1] * by, v[2] * by]
}

#[derive(Clone, Copy)]
struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            low: [f32::INFINITY; 3],
            high: [-f32::INFINITY; 3],
        }
    }
}

fn less(a: f32, b: f32) -> f32 {
    if b < a {
        b
    } else {
        a
    }
}

fn more(a: f32, b: f32) -> f32 {
    if a < b {
        b
    } else {
        a
    }
}

fn around(a: Bounds, b: Bounds) -> Bounds {
    let mut both = a;
    for i in 0..3 {
        both.low[i] = less(a.low[i], b.low[i]);
        both.high[i] = more(a.high[i], b.high[i]);
    }
    both
}

fn bounds_of(t: &[Vec3; 3]) -> Bounds {
    let corner = |v: Vec3| Bounds { low: v, high: v };
    around(around(corner(t[0]), corner(t[1])), corner(t[2]))
}

fn random_place(seed: u64, i: u64) -> Vec3 {
    [0, 1, 2].map(|k| unit_at(seed, 3 * i + k) as f32)
}

fn random_scene(triangles: usize) -> Vec<[Vec3; 3]> {
    let size = 1.0 / (triangles as f32 + 1.0).cbrt();
    let triangle = |i: u64| {
        let mut at = random_place(0, 4 * i);
        if i % 10 != 0 {
            at = plus(scaled(random_place(1, i / 4096), 0.9), scaled(at, 0.1));
        }
        let corner = |k: u64| plus(at, scaled(random_place(0, 4 * i + k), size));
        [at, corner(1), corner(2)]
    };
    (0..triangles as u64).map(triangle).collect()
}

fn spread(mut x: u32) -> u32 {
    x = (x | x << 16) & 0x030000ff;
    x = (x | x << 8) & 0x0300f00f;
    x = (x | x << 4) & 0x030c30c3;
    (x | x << 2) & 0x09249249
}

fn key_of(b: Bounds, index: u32, all: Bounds) -> u64 {
    let mut code = 0;
    for i in 0..3 {
        let side = all.high[i] - all.low[i];
        let middle = (b.low[i] + b.high[i]) / 2.0 - all.low[i];
        let step = if side > 0.0 {
            (middle / side * 1024.0).clamp(0.0, 1023.0)
        } else {
            0.0
        };
        code |= spread(step as u32) << i;
    }
    u64::from(code) << 32 | u64::from(index)
}

fn split_of(keys: &[u64]) -> usize {
    let bit = 63 - (keys[0] ^ keys[keys.len() - 1]).leading_zeros();
    keys.partition_point(|k| k >> bit & 1 == 0)
}

#[derive(Clone, Copy, Default)]
struct Node {
    bounds: Bounds,
    second: u32,
    triangle: u32,
}

/// Node `place` is the first of `nodes`.
fn build_serially(nodes: &mut [Node], place: usize, keys: &[u64], boxes: &[Bounds]) {
    if keys.len() == 1 {
        let triangle = keys[0] as u32;
        nodes[0] = Node {
            bounds: boxes[triangle as usize],
            second: 0,
            triangle,
        };
        return;
    }
    let left = split_of(keys);
    build_serially(&mut nodes[1..], place + 1, &keys[..left], boxes);
    build_serially(&mut nodes[2 * left..], place + 2 * left, &keys[left..], boxes);
    let bounds = around(nodes[1].bounds, nodes[2 * left].bounds);
    nodes[0] = Node {
        bounds,
        second: (place + 2 * left) as u32,
        triangle: 0,
    };
}

fn build_at<R: Programs>(nodes: &mut [Node], place: usize, keys: &[u64], boxes: &[Bounds]) {
    if keys.len() <= 256 {
        return build_serially(nodes, place, keys, boxes);
    }
    let left = split_of(keys);
    let (low, high) = nodes.split_at_mut(2 * left);
    R::join(
        || build_at::<R>(&mut low[1..], place + 1, &keys[..left], boxes),
        || build_at::<R>(high, place + 2 * left, &keys[left..], boxes),
    );
    let bounds = around(low[1].bounds, high[0].bounds);
    low[0] = Node {
        bounds,
        second: (place + 2 * left) as u32,
        triangle: 0,
    };
}

const BLOCK: usize = 1024;

fn bounds_of_all<R: Programs>(scene: &[[Vec3; 3]]) -> Bounds {
    if scene.len() <= BLOCK {
        return scene
            .iter()
            .fold(Bounds::default(), |all, t| around(all, bounds_of(t)));
    }
    let (low, high) = scene.split_at(scene.len() / 2);
    let (a, b) = R::join(|| bounds_of_all::<R>(low), || bounds_of_all::<R>(high));
    around(a, b)
}

fn init<R: Programs>(scene: &[[Vec3; 3]], boxes: &mut [Bounds], keys: &mut [u64]) {
    let all = bounds_of_all::<R>(scene);
    let (boxes, keys) = (Shared(boxes.as_mut_ptr()), Shared(keys.as_mut_ptr()));
    let (boxes, keys) = (&boxes, &keys);
    R::for_index(scene.len().div_ceil(BLOCK), |k| {
        let begin = k * BLOCK;
        let size = BLOCK.min(scene.len() - begin);
        let (boxes, keys) = unsafe { (boxes.slice(begin, size), keys.slice(begin, size)) };
        for (i, t) in scene[begin..begin + size].iter().enumerate() {
            boxes[i] = bounds_of(t);
            keys[i] = key_of(boxes[i], (begin + i) as u32, all);
        }
    });
}

pub fn bvh<R: Programs>(r: &R, triangles: usize) -> Measurement {
    let scene = random_scene(triangles);
    let mut boxes = vec![Bounds::default(); triangles];
    let mut keys = vec![0u64; triangles];
    let mut nodes = vec![Node::default(); 2 * triangles - 1];
    r.warm_up();
    let mut m = r.run(|| {
        let mut last = Measurement::default();
        for _ in 0..2 {
            let step = |f: &mut dyn FnMut()| {
                timed(1.0, || {
                    f();
                    0
                })
            };
            let first = step(&mut || init::<R>(&scene, &mut boxes, &mut keys));
            let sort = step(&mut || R::sort(&mut keys));
            let build = step(&mut || build_at::<R>(&mut nodes, 0, &keys, &boxes));
            last = Measurement {
                ns: first.ns + sort.ns + build.ns,
                cpu_ns: first.cpu_ns + sort.cpu_ns + build.cpu_ns,
                checksum: 0,
                extra: vec![
                    ("init_ns", first.ns),
                    ("sort_ns", sort.ns),
                    ("build_ns", build.ns),
                ],
            };
        }
        last
    });
    m.checksum = nodes.iter().zip(1u64..).fold(0, |sum: u64, (n, i)| {
        let of_node = n.second.wrapping_add(n.triangle.wrapping_mul(3));
        sum.wrapping_add(i.wrapping_mul(u64::from(of_node)))
    });
    m
}
