#!/usr/bin/env python3
"""std::execution::par on Rubato beside oneTBB: one source, two programs. bench/README.md

Sorts, passes and scans of 10^3 to 4 * 10^6 numbers on 1 and 2 threads, in a pool or an arena that the caller has entered. The time of
a call and its CPU time on Rubato, divided by those on oneTBB in the same round: median, minimum and maximum of the rounds. Read from the
environment: ROUNDS (7), ONLY (a regular expression for the algorithms), WORKERS (1,2), SIZES."""
import json
import os
import pathlib
import re
import statistics
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ["bench-std-par-algorithms", "bench-std-par-rubato-algorithms"]  # the second is divided by the first
KINDS = {
    "sort-int": "`sort`, ints", "sort-double": "`sort`, doubles", "sort-record": "`sort`, records by keys",
    "stable-record": "`stable_sort`, records by keys", "transform": "`transform`, doubles", "reduce": "`reduce`, doubles",
    "scan": "`inclusive_scan`, doubles", "scan-int": "`inclusive_scan`, ints", "find": "`find_if` in vain, ints",
    "min": "`min_element`, ints", "copyif": "`copy_if`, half of ints", "partition": "`partition`, half of ints",
}


def measured(program, kind, workers, size):
    said = subprocess.run([program, kind, str(workers), str(size)], check=True, capture_output=True, text=True, timeout=120)
    return json.loads(said.stdout)


def ratio(pairs, what):
    all_of = [rubato[what] / onetbb[what] for onetbb, rubato in pairs]
    return f"{statistics.median(all_of):.2f} ({min(all_of):.2f}-{max(all_of):.2f})"


def main():
    built = os.environ.get("BUILT")  # a folder with both programs
    if not built:
        subprocess.run(["cmake", "--preset", "bench"], cwd=root, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", "--preset", "bench", "--target", *PROGRAMS], cwd=root, check=True,
                       stdout=subprocess.DEVNULL)
        built = root / "build/bench/bench"
    programs = [pathlib.Path(built) / p for p in PROGRAMS]
    rounds = int(os.environ.get("ROUNDS") or 7)
    sizes = [int(n) for n in (os.environ.get("SIZES") or "1000,10000,100000,1000000,4000000").split(",")]
    workers = [int(w) for w in (os.environ.get("WORKERS") or "1,2").split(",")]
    rows = [(kind, n, w) for kind in KINDS if re.search(os.environ.get("ONLY") or "", kind) for n in sizes for w in workers]
    results = {row: [] for row in rows}
    for k in range(rounds):
        for kind, n, w in rows:
            order = programs if k % 2 == 0 else programs[::-1]
            pair = [measured(p, kind, w, n) for p in order]
            results[kind, n, w].append(pair if k % 2 == 0 else pair[::-1])
    print("| algorithm | items | threads | oneTBB | time, Rubato : oneTBB | CPU time, Rubato : oneTBB |\n|---|---|---|---|---|---|")
    for (kind, n, w), pairs in results.items():
        wrong = any(a["checksum"] != b["checksum"] for a, b in pairs)
        time = statistics.median(onetbb["ns"] for onetbb, _ in pairs) / 1000
        print(f"| {KINDS[kind]} | {n:,} | {w} | {time:,.1f} us |", "different results |" if wrong else
              f"{ratio(pairs, 'ns')} | {ratio(pairs, 'cpu_ns')} |")


if __name__ == "__main__":
    main()
