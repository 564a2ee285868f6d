//! `scenarios/programs/life.hpp`.

use super::{unit_at, Programs, Shared};
use crate::measure::{cpu_ns, now_ns, quantile, sleep_ns, Measurement};

/// A cell is a byte. Each row has a copy of its last cell before its first one, and of its first one after its last one.
struct Board {
    rows: usize,
    columns: usize,
    cells: Vec<u8>,
    inhabited: Vec<u8>,
}

impl Board {
    fn new(rows: usize, columns: usize) -> Board {
        let cells = vec![0; rows * (columns + 2)];
        Board {
            rows,
            columns,
            cells,
            inhabited: vec![0; rows],
        }
    }

    fn random(rows: usize, columns: usize, density: f64) -> Board {
        let mut board = Board::new(rows, columns);
        for r in 0..rows {
            let row = &mut board.cells[r * (columns + 2)..][..columns + 2];
            for c in 0..columns {
                row[c + 1] = u8::from(unit_at(0, (r * columns + c) as u64) < density);
                board.inhabited[r] |= row[c + 1];
            }
            row[0] = row[columns];
            row[columns + 1] = row[1];
        }
        board
    }

    fn row(&self, r: usize) -> &[u8] {
        let stride = self.columns + 2;
        &self.cells[r * stride..][..stride]
    }

    fn around(&self, r: usize) -> (usize, usize) {
        let above = if r == 0 { self.rows - 1 } else { r - 1 };
        (above, if r + 1 == self.rows { 0 } else { r + 1 })
    }

    fn may_live(&self, r: usize) -> bool {
        let (above, below) = self.around(r);
        (self.inhabited[above] | self.inhabited[r] | self.inhabited[below]) != 0
    }
}

/// Row r of the generation after `now`, and whether it has a living cell.
fn make_row(now: &Board, r: usize, next: &mut [u8], inhabited: &mut u8) {
    let columns = now.columns;
    let (above, below) = now.around(r);
    let (up, here, down) = (now.row(above), now.row(r), now.row(below));
    let (up, here, down) = (&up[..columns + 2], &here[..columns + 2], &down[..columns + 2]);
    let cells = &mut next[1..columns + 1];
    let mut any = 0;
    for c in 0..columns {
        let neighbours =
            up[c] + up[c + 1] + up[c + 2] + here[c] + here[c + 2] + down[c] + down[c + 1] + down[c + 2];
        cells[c] = u8::from((neighbours | here[c + 1]) == 3);
        any |= cells[c];
    }
    *inhabited = any;
    next[0] = next[columns];
    next[columns + 1] = next[1];
}

fn step<const BRIDGED: bool, R: Programs>(now: &Board, next: &mut Board) {
    let stride = now.columns + 2;
    let cells = Shared(next.cells.as_mut_ptr());
    let inhabited = Shared(next.inhabited.as_mut_ptr());
    let (cells, inhabited) = (&cells, &inhabited);
    let make = |r: usize| unsafe {
        make_row(
            now,
            r,
            cells.slice(r * stride, stride),
            &mut inhabited.slice(r, 1)[0],
        );
    };
    if BRIDGED {
        for r in (0..now.rows).filter(|&r| !now.may_live(r)) {
            unsafe {
                if inhabited.slice(r, 1)[0] != 0 {
                    cells.slice(r * stride, stride).fill(0);
                    inhabited.slice(r, 1)[0] = 0;
                }
            }
        }
        R::bridge((0..now.rows).filter(|&r| now.may_live(r)), make);
    } else {
        const WORTH_A_THREAD: usize = 1 << 16; // cells, which take some 10 us
        R::for_rows(now.rows, WORTH_A_THREAD / now.columns, make);
    }
}

pub fn life_at_60_hz<const BRIDGED: bool, R: Programs>(r: &R, frames: u64) -> Measurement {
    const SIDE: usize = 200;
    const FRAME_NS: u64 = 1_000_000_000 / 60;
    let mut now = Board::random(SIDE, SIDE, 0.3);
    let mut next = Board::new(SIDE, SIDE);
    let mut times = Vec::new();
    r.warm_up();
    let cpu = r.run(|| {
        sleep_ns(20_000_000); // the other threads have gone to sleep
        let cpu = cpu_ns();
        let mut due = now_ns();
        for _ in 0..frames {
            let start = now_ns();
            step::<BRIDGED, R>(&now, &mut next);
            times.push((now_ns() - start) as f64);
            std::mem::swap(&mut now, &mut next);
            due += FRAME_NS;
            sleep_ns(due.saturating_sub(now_ns()));
        }
        cpu_ns() - cpu
    });
    let mut checksum = 0u64;
    for i in 0..SIDE {
        for c in 0..SIDE {
            checksum += (i * SIDE + c + 1) as u64 * u64::from(now.row(i)[c + 1]);
        }
    }
    Measurement {
        ns: quantile(&times, 0.5),
        cpu_ns: cpu as f64 / frames as f64,
        checksum,
        extra: vec![("p99_frame_ns", quantile(&times, 0.99))],
    }
}
