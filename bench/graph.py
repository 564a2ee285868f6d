#!/usr/bin/env python3
"""A graph of empty tasks, built anew for each frame: by then() and when_all(), and by counters. bench/README.md

Read from the environment: ROUNDS (7)."""
import own_rows

rows = [(f"300 systems, each after up to three others, 300 frames, {workers} workers; ms", f"{workers} 300 300")
        for workers in (1, 2)]

if __name__ == "__main__":
    own_rows.measure("bench-graph", rows)
