//! `scenarios/programs/matmul.hpp`.

use super::{random_at, Programs, Shared};
use crate::measure::{timed, Measurement};

/// Two square matrices, and room for their product.
struct Factors<'a> {
    a: &'a [f32],
    b: &'a [f32],
    c: Shared<f32>,
    n: usize,
}

#[derive(Clone, Copy)]
struct Tile {
    rows: (usize, usize),
    columns: (usize, usize),
}

/// out[j] += row[k] * b[k][column + j]: four rows of b at a time.
fn add_products(out: &mut [f32], row: &[f32], b: &[f32], n: usize, k: usize, column: usize) {
    let width = out.len();
    let row_of = |k: usize| &b[k * n + column..][..width];
    let mut quads = row.chunks_exact(4);
    let mut k = k;
    for x in &mut quads {
        let (b0, b1, b2, b3) = (row_of(k), row_of(k + 1), row_of(k + 2), row_of(k + 3));
        for j in 0..width {
            out[j] += (x[0] * b0[j] + x[1] * b1[j]) + (x[2] * b2[j] + x[3] * b3[j]);
        }
        k += 4;
    }
    for x in quads.remainder() {
        let bk = row_of(k);
        for j in 0..width {
            out[j] += x * bk[j];
        }
        k += 1;
    }
}

fn multiply_tile(f: &Factors, t: Tile) {
    const WIDTH: usize = 128;
    const DEPTH: usize = 32;
    let n = f.n;
    for j in (t.columns.0..t.columns.1).step_by(WIDTH) {
        let width = WIDTH.min(t.columns.1 - j);
        for k in (0..n).step_by(DEPTH) {
            let depth = DEPTH.min(n - k);
            for r in t.rows.0..t.rows.1 {
                let out = unsafe { f.c.slice(r * n + j, width) };
                add_products(out, &f.a[r * n + k..][..depth], f.b, n, k, j);
            }
        }
    }
}

fn multiply_in_halves<R: Programs>(f: &Factors, t: Tile) {
    const TILE: usize = 128;
    let (rows, columns) = (t.rows.1 - t.rows.0, t.columns.1 - t.columns.0);
    if rows <= TILE && columns <= TILE {
        return multiply_tile(f, t);
    }
    let (first, second) = if rows >= columns {
        let middle = t.rows.0 + rows / 2;
        (
            Tile {
                rows: (t.rows.0, middle),
                ..t
            },
            Tile {
                rows: (middle, t.rows.1),
                ..t
            },
        )
    } else {
        let middle = t.columns.0 + columns / 2;
        (
            Tile {
                columns: (t.columns.0, middle),
                ..t
            },
            Tile {
                columns: (middle, t.columns.1),
                ..t
            },
        )
    };
    R::join(
        || multiply_in_halves::<R>(f, first),
        || multiply_in_halves::<R>(f, second),
    );
}

pub fn matmul<R: Programs>(r: &R, n: usize) -> Measurement {
    let random = |seed: u64| -> Vec<f32> {
        (0..(n * n) as u64)
            .map(|i| (random_at(seed, i) % 16) as f32)
            .collect()
    };
    let (a, b) = (random(0), random(1));
    let mut c = vec![0f32; n * n];
    let factors = Factors {
        a: &a,
        b: &b,
        c: Shared(c.as_mut_ptr()),
        n,
    };
    r.warm_up();
    let mut m = r.run(|| {
        timed(1.0, || {
            multiply_in_halves::<R>(
                &factors,
                Tile {
                    rows: (0, n),
                    columns: (0, n),
                },
            );
            0
        })
    });
    m.checksum = c
        .iter()
        .zip(1u64..)
        .fold(0, |sum, (&x, i)| sum.wrapping_add(i.wrapping_mul(x as u64)));
    m
}
