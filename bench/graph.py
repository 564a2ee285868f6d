#!/usr/bin/env python3
"""Graphs of tasks and pipelines, beside oneTBB and Taskflow where they are there. bench/README.md

A graph of systems, each after up to three others, frame by frame: all frames in ms; a frame's median and 99th percentile
in us. A pipeline that keeps the order of its items: ns per item. Read from the environment: ROUNDS (7)."""
import own_rows

rows = [(f"300 empty systems, 300 frames, {workers} workers", f"graph {workers} 300 300 empty") for workers in (1, 2)]
rows += [("500 systems of 5 to 50 us, 100 frames, 2 workers", "graph 2 500 100 busy")]
rows += [("500 systems of 5 to 50 us, 60 frames a second, 2 workers", "graph 2 500 100 busy 60")]
rows += [(f"ordered items of {ns} ns, 2 workers", f"items 2 {1_000_000_000 // (ns + 500)} {ns}") for ns in (100, 1000)]

if __name__ == "__main__":
    own_rows.measure("bench-graph", rows, ["bench-graph-onetbb", "bench-graph-taskflow"])
