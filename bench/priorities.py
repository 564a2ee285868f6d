#!/usr/bin/env python3
"""How soon a high task begins behind a queue of normal ones, and what low tasks take from normal ones. bench/README.md

Read from the environment: ROUNDS (7)."""
import own_rows

rows = [
    ("behind 1,000 jobs of 200 us, 2 workers, from enqueue to start: p50, p99, longest, us", "behind 2 1000"),
    ("the same", "behind-normal 2 20"),
    ("normal jobs of 200 us without end, 2 workers, beside 400 low ones (4% of a second): normal/s, low/s, longest wait of a low one, ms",
     "beside 2 400"),
    ("the same beside 20,000 low ones", "beside 2 20000"),
]

if __name__ == "__main__":
    own_rows.measure("bench-priorities", rows)
