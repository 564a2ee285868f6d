#!/usr/bin/env python3
"""Rubato beside serverbox, its own mutex-and-queue baseline included, at serverbox's own loads. bench/README.md

    bench/serverbox.py FOLDER      # the `bench` folder of a build of serverbox (cmake -DMG_ENABLE_BENCH=1)

Read from the environment: ROUNDS (7), ONLY (a regular expression for rows)."""
import os
import pathlib
import re
import statistics
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
ours = root / "build/bench/bench"


def scheduler(load, threads, tasks, exes):
    arguments = f"-load {load} -threads {threads} -tasks {tasks} -exes {exes}"
    return (f"{load}, {threads} worker{'s' * (threads > 1)}, {exes} run{'s' * (exes > 1)} each", "taskscheduler/bench_taskscheduler",
            arguments, "bench-scheduler-rubato", arguments)


def front(senders):
    return (f"front queue, {senders} producer{'s' * (senders > 1)}", "mpscqueue/bench_mpscqueue",
            f"-load empty -senders {senders} -items 10000000 -signal 0", "bench-queues-rubato",
            f"-op front -threads {senders} -items 10000000")


def ready(consumers):
    return (f"ready queue, {consumers} consumer{'s' * (consumers > 1)}", "mcspqueue/bench_mcspqueue",
            f"-op push-pop -load empty -threads {consumers} -items 5000000 -subqsize 5000", "bench-queues-rubato",
            f"-op ready -threads {consumers} -items 5000000")


rows = [scheduler("nano", t, 2_000_000, 1) for t in (1, 2, 5, 10, 50)]
rows += [scheduler("nano", t, 500_000, 10) for t in (1, 2, 5, 10, 50)]
rows += [scheduler("micro", t, 500_000, 1) for t in (1, 2, 5, 10, 50)]
rows += [scheduler("micro", t, 50_000, 10) for t in (1, 2, 5, 10, 50)]
rows += [scheduler("heavy", t, 2_000, 50) for t in (1, 2, 5, 10, 50)]
rows += [front(n) for n in (1, 2, 5, 10)] + [ready(n) for n in (1, 2, 5, 10)]


def million_per_second(program, arguments):
    out = subprocess.run([program, *arguments.split()], check=True, capture_output=True, text=True, timeout=300).stdout
    return float(re.search(r"(?:Exec per second|Items/sec|Items per sec): +(\d+)", out)[1]) / 1e6


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "taskscheduler/bench_taskscheduler").exists():
        sys.exit("usage: bench/serverbox.py FOLDER\n"
                 "FOLDER is the bench folder of a build of github.com/Gerold103/serverbox with -DMG_ENABLE_BENCH=1.")
    theirs = pathlib.Path(sys.argv[1])
    only = re.compile(os.environ.get("ONLY") or "")
    subprocess.run(["cmake", "--preset", "bench"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "bench", "--target", "bench-scheduler-rubato", "bench-queues-rubato"],
                   cwd=root, check=True, stdout=subprocess.DEVNULL)
    print("Million per second: median of the rounds (minimum-maximum).\n")
    print("| load | Rubato | serverbox | its baseline with a mutex | Rubato / serverbox | / baseline |\n|---|---|---|---|---|---|")
    for title, their_program, their_arguments, our_program, our_arguments in rows:
        if not only.search(title):
            continue
        contenders = [(ours / our_program, our_arguments), (theirs / their_program, their_arguments)]
        if not title.startswith("heavy"):  # the baseline has no deadlines and no wakes
            contenders.append((theirs / f"{their_program}_trivial", their_arguments))
        results = [[] for _ in contenders]
        for _ in range(int(os.environ.get("ROUNDS") or 7)):
            for result, contender in zip(results, contenders):
                result.append(million_per_second(*contender))
        middle = [statistics.median(r) for r in results]
        cells = [f"{m:.3g} ({min(r):.3g}-{max(r):.3g})" for m, r in zip(middle, results)]
        ratios = [f"{middle[0] / m:.2f}" for m in middle[1:]]
        absent = ["-"] * (3 - len(contenders))
        print("|", " | ".join([title, *cells, *absent, *ratios, *absent]), "|", flush=True)


if __name__ == "__main__":
    main()
