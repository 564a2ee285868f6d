#!/usr/bin/env python3
"""How soon a high task begins behind a queue of normal ones, and what low tasks take from normal ones. bench/README.md

Read from the environment: ROUNDS (7)."""
import os
import pathlib
import statistics
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
rounds = int(os.environ.get("ROUNDS") or 7)
rows = [
    ("behind 1,000 jobs of 200 us, 2 workers, from enqueue to start: p50, p99, longest, us", "behind 2 1000"),
    ("the same", "behind-normal 2 20"),
    ("normal jobs of 200 us without end, 2 workers, beside 400 low ones (4% of a second): normal/s, low/s, longest wait of a low one, ms",
     "beside 2 400"),
    ("the same beside 20,000 low ones", "beside 2 20000"),
]


def main():
    subprocess.run(["cmake", "--preset", "bench"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "bench", "--target", "bench-priorities"], cwd=root, check=True,
                   stdout=subprocess.DEVNULL)
    results = [{} for _ in rows]
    for _ in range(rounds):
        for (_, arguments), result in zip(rows, results):
            command = [root / "build/bench/bench/bench-priorities", *arguments.split()]
            for line in subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.splitlines():
                contender, *figures = line.split()
                result.setdefault(contender, []).append([float(x) for x in figures])
    print("| what | contender | figures: median (minimum-maximum) |\n|---|---|---|")
    for (what, _), result in zip(rows, results):
        for contender, measured in result.items():
            print("|", what, "|", contender, "|", "; ".join(
                f"{statistics.median(x):g} ({min(x):g}-{max(x):g})" for x in zip(*measured)), "|")


if __name__ == "__main__":
    sys.exit(main())
