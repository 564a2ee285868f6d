#!/usr/bin/env python3
"""The adapters' executors beside those of the other libraries. bench/README.md

Asio's post on a pool beside asio::thread_pool; schedule | then of stdexec beside exec::static_thread_pool, if RUBATO_STDEXEC
names a checkout. Per item: time and CPU time in ns. Read from the environment: ROUNDS (7)."""
import os
import subprocess

import own_rows

asio = [(f"{title}, {workers} workers", f"{what} {workers} {n}")
        for workers in (1, 2) for title, what, n in (
            ("from a thread outside", "outside", 400_000), ("from four threads outside", "producers", 400_000),
            ("a handler posts the next one", "chain", 400_000), ("eight such chains", "chains", 400_000),
            ("the same by defer", "defer", 400_000), ("into a strand", "strand", 200_000))]
stdexec = [(f"{title}, {workers} workers", f"{what} {workers} {n}")
           for workers in (1, 2) for title, what, n in (
               ("started by a thread outside", "outside", 200_000), ("by four threads outside", "producers", 200_000),
               ("an operation starts the next one", "chain", 400_000), ("eight such chains", "chains", 400_000),
               ("spawned in an async_scope", "spawn", 200_000), ("sync_wait", "sync_wait", 20_000),
               ("sync_wait of a when_all of four", "when_all", 20_000), ("bulk of 10^6 indices, per index", "bulk", 20_000_000))]

if __name__ == "__main__":
    print("asio::post\n")
    own_rows.measure("bench-executors-asio", asio)
    if checkout := os.environ.get("RUBATO_STDEXEC"):
        subprocess.run(["cmake", "--preset", "bench", f"-DRUBATO_STDEXEC={checkout}"], cwd=own_rows.root, check=True,
                       stdout=subprocess.DEVNULL)
        print("\nstdexec::schedule(scheduler) | stdexec::then(f)\n")
        own_rows.measure("bench-executors-stdexec", stdexec)
