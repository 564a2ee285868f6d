"""Runs the programs, one process per measurement, and makes rows of what they say."""

import json
import os
import statistics
import subprocess
import sys
import time

TIMEOUT = 180  # seconds
SLOW = 4.0  # a contender whose process takes longer is measured in three rounds


def run_once(program, kind, workers, size, steps=None):
    """The program's answer, or a string that says what went wrong."""
    environment = dict(os.environ)
    if steps:
        environment["RUBATO_BENCH_STEPS"] = str(steps)
    command = [str(program), kind, str(workers), str(size)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"not done after {TIMEOUT} s"
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return f"exit status {done.returncode}: {said[-1] if said else 'it said nothing'}"
    return json.loads(done.stdout)


def calibrate(program):
    """How many steps of the busy loop take 10 ns here."""
    answer = run_once(program, "calibrate", 1, 10_000_000)
    if isinstance(answer, str):
        raise SystemExit(f"calibration failed: {answer}")
    return max(1, round(answer["extra"]["steps"])), answer["ns"]


def available_memory():
    with open("/proc/meminfo", encoding="ascii") as info:
        for line in info:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def row_of(scenario, entry, answers):
    """Medians over the rounds, in ns of what the scenario counts."""
    ns = [a["ns"] * entry.scale for a in answers]
    row = {
        "scenario": scenario.name,
        "suite": scenario.suite,
        "contender": entry.contender.name,
        "workers": entry.workers,
        "median_ns": statistics.median(ns),
        "min_ns": min(ns),
        "max_ns": max(ns),
        "cpu_ns": statistics.median(a["cpu_ns"] * entry.scale for a in answers),
        "max_rss_kb": max(a["max_rss_kb"] for a in answers),
        "size": entry.size,
        "rounds": len(answers),
        "checksum": answers[0]["checksum"],
        "version": answers[0]["version"],
    }
    if entry.scale != 1.0:
        row["scaled_by"] = entry.scale
    for name in answers[0]["extra"]:
        row[name] = statistics.median(a["extra"][name] for a in answers)
    return row


def empty_row(scenario, contender, workers, why):
    fields = ("median_ns", "min_ns", "max_ns", "cpu_ns", "max_rss_kb")
    return {"scenario": scenario.name, "contender": contender, "workers": workers, **dict.fromkeys(fields), "why": why}


def measure(scenario, todo, builder, rounds, steps):
    """All rows of one scenario. Each round runs every contender once and starts with another one."""
    missing = dict.fromkeys(e.contender for e in todo if not builder.program(e.contender))
    rows = [empty_row(scenario, contender.name, None, builder.why(contender)) for contender in missing]
    todo = [e for e in todo if builder.program(e.contender)]
    if scenario.memory and available_memory() < 1.5 * scenario.memory + 2**28:
        return rows + [empty_row(scenario, e.contender.name, e.workers, "not enough memory") for e in todo]

    answers = {e: [] for e in todo}
    broken, slow = {}, set()
    for number in range(scenario.rounds or rounds):
        first = number % max(1, len(todo))
        for entry in todo[first:] + todo[:first]:
            if entry in broken or (number >= 3 and entry in slow):
                continue
            begun = time.monotonic()
            answer = run_once(builder.program(entry.contender), entry.kind, entry.workers, entry.size, steps)
            if time.monotonic() - begun > SLOW:
                slow.add(entry)
            if isinstance(answer, str):
                broken[entry] = answer
                print(f"{scenario.name}/{entry.contender.name}: {answer}", file=sys.stderr, flush=True)
            else:
                answers[entry].append(answer)

    checksums = {}
    for entry in todo:  # equal work has equal checksums, whichever contender does it
        for answer in answers[entry]:
            agreed = checksums.setdefault(entry.size, answer["checksum"])
            if answer["checksum"] != agreed and entry not in broken:
                broken[entry] = f"wrong result: checksum {answer['checksum']}, others {agreed}"
                print(f"{scenario.name}/{entry.contender.name}: {broken[entry]}", file=sys.stderr, flush=True)
    for entry in todo:
        if entry in broken:
            rows.append(empty_row(scenario, entry.contender.name, entry.workers, broken[entry]))
        else:
            rows.append(row_of(scenario, entry, answers[entry]))
    return rows
