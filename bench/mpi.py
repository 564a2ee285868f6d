#!/usr/bin/env python3
"""Awaiting a message of MPI beside MPI_Wait, and examples/cluster with 1, 2 and 4 ranks. bench/README.md

Each program runs in a network namespace (tests/mpi/run). Read from the environment: ROUNDS (7), of the examples; MCA, options for
OpenMPI's parameters, such as "--mca btl_vader_single_copy_mechanism none"."""
import os
import re
import statistics
import subprocess

import own_rows

run = own_rows.root / "tests/mpi/run"
build = own_rows.root / "build/mpi"


def said_by(ranks, program, *arguments):
    command = [run, str(ranks), *os.environ.get("MCA", "").split(), program, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return done.stdout, done.stderr


if __name__ == "__main__":
    subprocess.run(["cmake", "--preset", "gcc-release", "-B", build, "-DRUBATO_MPI=ON", "-DRUBATO_BUILD_TOOLS=OFF",
                    "-DRUBATO_BUILD_BENCHMARKS=ON"], cwd=own_rows.root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "--target", "bench-mpi", "cluster_sort", "cluster_kmeans"], check=True,
                   stdout=subprocess.DEVNULL)
    for workers in (1, 2):
        print(f"{workers} workers a rank\n")
        print(said_by(2, build / "bench/bench-mpi", workers)[0])
    print("| example, one worker a rank, ms | 1 rank | 2 ranks | 4 ranks | 1 / 2 ranks |\n|---|---|---|---|---|")
    for name, size in (("sort", 4_000_000), ("sort", 16_000_000), ("kmeans", 1_000_000)):
        program = build / "examples/cluster" / name
        times = {1: [], 2: [], 4: []}
        for _ in range(int(os.environ.get("ROUNDS") or 7)):
            for ranks, all_times in times.items():
                all_times.append(float(re.search(r": ([0-9.]+) ms", said_by(ranks, program, size, 1)[1])[1]))
        cells = [f"{statistics.median(t):.0f} ({min(t):.0f}-{max(t):.0f})" for t in times.values()]
        ratio = statistics.median(a / b for a, b in zip(times[1], times[2]))
        print("|", f"{name} {size}", "|", " | ".join(cells), f"| {ratio:.2f} |", flush=True)
