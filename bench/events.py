#!/usr/bin/env python3
"""Timers, routines and events beside the bare means of the kernel and a queue with a mutex. bench/README.md

Read from the environment: ROUNDS (7)."""
import own_rows

rows = [("event to handler, sent from another CPU, p50 and p99, us", "event 2 200 2000"),
        ("event to handler, sent from the same CPU, p50 and p99, us", "event-same-cpu 2 200 2000")]
rows += [("event to handler, 100,000 queued tasks of 100 us, p50 and p99, us", "event-beside 2 100000 100"),
         ("event to handler, each worker in a task of 10 s, p50 and p99, us", "event-beside 2 2 10000000")]
rows += [(f"lateness of a timer of {d} us, p50 and p99, us", f"timer 2 {n} {d}")
         for d, n in ((100, 400), (1000, 200), (10000, 50), (100000, 10), (2000000, 5))]
rows += [(f"arm and cancel at once; re-arm a random one, of 10^6, {t} threads, ns of CPU time", f"arm {t} 1000000 0") for t in (1, 2, 4)]
rows += [(f"routines, {times} runs each, {w} workers, million runs/s", f"routine {w} {n} {times}")
         for times, n in ((1, 1000000), (10, 200000)) for w in (1, 2, 5, 10)]
rows += [("100,000 sleeping coroutines: bytes each, % of a core", "sleepers 2 100000 0"),
         ("100,000 sleeping routines: bytes each beyond the object, % of a core", "sleeping-routines 2 100000 0"),
         ("8,000 idle connections, a coroutine each: bytes each, % of a core", "idle-connections 2 8000 0")]

if __name__ == "__main__":
    own_rows.measure("bench-events", rows)
