#!/usr/bin/env python3
"""Rubato beside serverbox, its own mutex-and-queue baseline included, at serverbox's own loads. bench/README.md

    bench/serverbox.py FOLDER      # the `bench` folder of a build of serverbox (cmake -DMG_ENABLE_BENCH=1)

Then how long ready routines wait for their start, in both, by bench/events/latency.cpp.
Read from the environment: ROUNDS (7), ONLY (a regular expression for rows; those begin with "latency")."""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
ours = root / "build/bench/bench"


def scheduler(load, threads, tasks, exes):
    arguments = f"-load {load} -threads {threads} -tasks {tasks} -exes {exes}"
    return (f"{load}, {threads} worker{'s' * (threads > 1)}, {exes} run{'s' * (exes > 1)} each", "taskscheduler/bench_taskscheduler",
            arguments, "bench-scheduler-rubato", arguments)


def by_coroutines(threads, tasks, exes):
    title, their_program, their_arguments, our_program, our_arguments = scheduler("nano", threads, tasks, exes)
    return (f"{title}, coroutines beside its callbacks", their_program, their_arguments, our_program,
            f"{our_arguments} -form coroutines")


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
rows += [by_coroutines(t, tasks, exes) for tasks, exes in ((2_000_000, 1), (500_000, 10)) for t in (1, 2, 5)]
rows += [scheduler("micro", t, 500_000, 1) for t in (1, 2, 5, 10, 50)]
rows += [scheduler("micro", t, 50_000, 10) for t in (1, 2, 5, 10, 50)]
rows += [scheduler("heavy", t, 2_000, 50) for t in (1, 2, 5, 10, 50)]
rows += [front(n) for n in (1, 2, 5, 10)] + [ready(n) for n in (1, 2, 5, 10)]

waits = [(f"micro, {t} worker{'s' * (t > 1)}", f"-load micro -threads {t} -tasks 50000 -exes 10") for t in (1, 2, 5)]
waits += [(f"heavy, {t} worker{'s' * (t > 1)}", f"-load heavy -threads {t} -tasks 2000 -exes 50") for t in (1, 2, 5)]
waits += [(f"heavy, {t} worker{'s' * (t > 1)}, only 100 routines", f"-load heavy -threads {t} -tasks 100 -exes 200")
          for t in (1, 2, 5)]


def million_per_second(program, arguments):
    out = subprocess.run([program, *arguments.split()], check=True, capture_output=True, text=True, timeout=300).stdout
    return float(re.search(r"(?:Exec per second|Items/sec|Items per sec): +(\d+)", out)[1]) / 1e6


def quantiles(program, arguments):
    out = subprocess.run([program, *arguments.split()], check=True, capture_output=True, text=True, timeout=300).stdout
    return [float(x) for x in re.search(r"p50: (\S+) us, p99: (\S+) us", out).groups()]


def build_latency(theirs, to):
    """Our program of the latencies, for serverbox's scheduler."""
    libraries = [theirs.parent / "src/mg" / name for name in ("sch/libmgsch.a", "stub/libmgboxstub.a", "box/libmgbox.a")]
    cache = (theirs.parent / "CMakeCache.txt").read_text()
    source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache, re.M)[1]
    subprocess.run(["g++", "-std=gnu++20", "-O3", "-DNDEBUG", "-pthread", "-DBESIDE_SERVERBOX", f"-I{source}/src",
                    root / "bench/events/latency.cpp", root / "bench/events/work.cpp", *libraries, "-o", to], check=True)


def print_latencies(theirs, only, rounds):
    chosen = [(title, arguments) for title, arguments in waits if only.search("latency, " + title)]
    if not chosen:
        return
    print("\nFrom ready to started, us: p50, p99 (minimum-maximum of the rounds' p99).\n")
    print("| load | Rubato | serverbox | p99: Rubato / serverbox |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "latency"
        build_latency(theirs, program)
        for title, arguments in chosen:
            results = [[], []]
            for _ in range(rounds):
                for result, contender in zip(results, (ours / "bench-latency-rubato", program)):
                    result.append(quantiles(contender, arguments))
            p50 = [statistics.median(q[0] for q in r) for r in results]
            p99 = [statistics.median(q[1] for q in r) for r in results]
            cells = [f"{a:,.3g}, {b:,.3g} ({min(q[1] for q in r):,.3g}-{max(q[1] for q in r):,.3g})" for a, b, r in zip(p50, p99, results)]
            print("|", " | ".join([title, *cells, f"{p99[0] / p99[1]:.2f}"]), "|", flush=True)


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "taskscheduler/bench_taskscheduler").exists():
        sys.exit("usage: bench/serverbox.py FOLDER\n"
                 "FOLDER is the bench folder of a build of github.com/Gerold103/serverbox with -DMG_ENABLE_BENCH=1.")
    theirs = pathlib.Path(sys.argv[1])
    only = re.compile(os.environ.get("ONLY") or "")
    subprocess.run(["cmake", "--preset", "bench"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    rounds = int(os.environ.get("ROUNDS") or 7)
    subprocess.run(["cmake", "--build", "--preset", "bench", "--target", "bench-scheduler-rubato", "bench-queues-rubato",
                    "bench-latency-rubato"],
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
        for _ in range(rounds):
            for result, contender in zip(results, contenders):
                result.append(million_per_second(*contender))
        middle = [statistics.median(r) for r in results]
        cells = [f"{m:.3g} ({min(r):.3g}-{max(r):.3g})" for m, r in zip(middle, results)]
        ratios = [f"{middle[0] / m:.2f}" for m in middle[1:]]
        absent = ["-"] * (3 - len(contenders))
        print("|", " | ".join([title, *cells, *absent, *ratios, *absent]), "|", flush=True)
    print_latencies(theirs, only, rounds)


if __name__ == "__main__":
    main()
