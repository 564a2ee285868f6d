#!/usr/bin/env python3
"""What a trace costs: the same programs with RUBATO_TRACE and without, in turns. bench/README.md

The programs measure their own time, so the conversion at the end of the process does not count. Read from the environment: OUT
(build/bench), ROUNDS (7), QUICK, WORKERS (1 and all CPUs)."""
import os
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path

import report
from build import ROOT, builder_for
from measure import calibrate, run_once
from plan import CONTENDERS, entries, scenarios, usable_cpus
from run import settings_from

# Scenarios by the beginnings of their names. Forks have no events; of the others each task has two or three.
SHOWN = ("fib", "nqueens", "cofib", "tasks-250us", "enqueue1us", "enqueue")


def chosen(quick, workers):
    for scenario in scenarios(quick):
        if scenario.name in SHOWN or scenario.kind in ("fib", "cofib", "nqueens"):
            yield replace(scenario, contenders=("rubato",), own_workers=workers)


def once(program, entry, steps, trace):
    if trace:
        os.environ["RUBATO_TRACE"] = trace
    else:
        os.environ.pop("RUBATO_TRACE", None)
    answer = run_once(program, entry.kind, entry.workers, entry.size, steps)
    if isinstance(answer, str):
        raise SystemExit(f"{entry.kind}: {answer}")
    return answer["ns"]


def main():
    settings = settings_from(os.environ)
    out = Path(os.environ.get("OUT") or ROOT / "build" / "bench").absolute()
    builder = builder_for(out)
    plan = [(s, e) for s in chosen(settings["quick"], settings["workers"] or (1, "P")) for e in entries(s, "", ())[0]]
    for contender in {CONTENDERS["serial"]: None, **{e.contender: None for _, e in plan}}:
        builder.build(contender)
        if not builder.program(contender):
            raise SystemExit(f"{contender.program}: {builder.why(contender)}")
    steps, _ = calibrate(builder.program(CONTENDERS["serial"]))
    h = report.host(usable_cpus())
    print(f"{h['cpu']}, {h['usable_cpus']} CPUs, {h['compiler']}, commit {h['commit']}, load {h['load_average']:.2f}; "
          f"medians of {settings['rounds']} rounds (minimum-maximum)\n")
    print("| what | workers | off | on | on / off |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for scenario, entry in plan:
            program, times = builder.program(entry.contender), {False: [], True: []}
            for number in range(settings["rounds"]):
                for on in (False, True) if number % 2 else (True, False):
                    times[on].append(once(program, entry, steps, os.path.join(folder, "trace") if on else None))
            cells = [f"{report.duration(statistics.median(t))} ({report.duration(min(t))}-{report.duration(max(t))})" for t in
                     (times[False], times[True])]
            ratio = statistics.median(times[True]) / statistics.median(times[False])
            print(f"| {scenario.title} | {entry.workers} | {cells[0]} | {cells[1]} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
