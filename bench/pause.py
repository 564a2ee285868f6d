#!/usr/bin/env python3
"""When does a second thread begin to work after a pause? Beside oneTBB where it is there. bench/README.md

40 tasks of 100 us after a pause in which nothing runs, made by a thread outside the pool: by a scope, by a tree of joins, by a
loop. The time after which the first of them begins on a second thread, in us: median, 90th and 99th percentile. Read from
the environment: ROUNDS (7)."""
import own_rows

rows = [(f"40 tasks of 100 us by a {kind} after {pause} us, 2 workers", f"{kind} {pause} 200")
        for kind in ("scope", "join", "loop") for pause in (500, 1000, 1500, 2000)]

if __name__ == "__main__":
    own_rows.measure("bench-pause", rows, ["bench-pause-onetbb"])
