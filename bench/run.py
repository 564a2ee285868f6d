#!/usr/bin/env python3
"""Builds, measures, prints tables and writes results.json and results.md. See README.md beside this file.

Read from the environment: ONLY, WORKERS, ROUNDS, QUICK, OUT. Arguments choose parts: "callgrind" counts instructions and
nothing else, "list" prints what there is to measure.
"""

import json
import os
import re
import sys
from pathlib import Path

import report
from build import ROOT, Builder
from goals import goals
from instructions import instructions
from measure import calibrate, empty_row, measure
from plan import CONTENDERS, entries, scenarios, usable_cpus


def settings_from(environment):
    quick = environment.get("QUICK", "") not in ("", "0")
    try:
        return {
            "only": environment.get("ONLY", ""),
            "workers": tuple(int(w) for w in re.split(r"[,\s]+", environment.get("WORKERS", "").strip()) if w),
            "rounds": int(environment.get("ROUNDS") or (3 if quick else 7)),
            "quick": quick,
        }
    except ValueError as error:
        raise SystemExit(f"WORKERS and ROUNDS are numbers: {error}") from error


def print_instructions(rows):
    print("instructions: per join, of fib with one worker")
    for row in rows:
        print(f"  {row['contender']:<20}", f"{row['per_join']:8.1f}" if row["per_join"] is not None else f"       - {row['why']}")
    print(flush=True)


def main(arguments):
    settings = settings_from(os.environ)
    plan = [(s, *entries(s, settings["only"], settings["workers"])) for s in scenarios(settings["quick"])]
    plan = [(s, todo, left_out) for s, todo, left_out in plan if todo or left_out]
    if "list" in arguments:
        for scenario, todo, _ in plan:
            print(f"{scenario.name:20} {scenario.title}\n{'':20} {', '.join(dict.fromkeys(e.contender.name for e in todo))}")
        return 0

    out = Path(os.environ.get("OUT") or ROOT / "build" / "bench").absolute()
    out.mkdir(parents=True, exist_ok=True)
    builder = Builder(out)
    results = {"host": report.host(usable_cpus()), "settings": settings, "rows": [], "instructions": [], "goals": []}

    if "callgrind" not in arguments:
        if results["host"]["load_average"] > 0.5:
            print(f"the machine is busy (load {results['host']['load_average']:.1f}): these times will mean little", file=sys.stderr)
        for contender in {e.contender: None for _, todo, _ in plan for e in todo}:
            builder.build(contender)
        serial = CONTENDERS["serial"]
        builder.build(serial)
        if not builder.program(serial):
            print("the serial program is needed to calibrate the busy loop", file=sys.stderr)
            return 1
        results["host"]["busy_steps"], results["host"]["ns_per_step"] = calibrate(builder.program(serial))
        for scenario, todo, left_out in plan:
            rows = measure(scenario, todo, builder, settings["rounds"], results["host"]["busy_steps"])
            rows += [empty_row(scenario, name, None, why) for name, why in left_out.items()]
            order = list(CONTENDERS)
            rows.sort(key=lambda r: (order.index(r["contender"]), r["workers"] or 0))
            results["rows"] += rows
            print(report.text_table(scenario, rows), flush=True)
    if "callgrind" in arguments or not settings["only"] or re.search(settings["only"].split("/")[0], "instructions"):
        results["instructions"] = instructions(builder, settings["only"])
        print_instructions(results["instructions"])

    results["goals"] = goals(results)
    for goal in results["goals"]:
        print(f"{goal['goal']} {goal['bar']}:\n    g++ {goal['gcc']}\n    clang {goal['clang']}")
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (out / "results.md").write_text("\n".join(report.markdown(results, [s for s, _, _ in plan])) + "\n", encoding="utf-8")
    print(f"\n{out}/results.json, {out}/results.md")
    wrong = [r for r in results["rows"] if r.get("why", "").startswith("wrong result")]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
