#!/usr/bin/env python3
"""Builds, measures, prints tables and writes results.json and results.md. See README.md beside this file.

Read from the environment: ONLY, WORKERS, ROUNDS, QUICK, OUT. Arguments choose parts: "callgrind" counts instructions and
leaves what else is in results.json as it is, "list" prints what there is to measure.
"""

import json
import os
import re
import sys
from pathlib import Path

import report
from build import ROOT, builder_for
from goals import goals
from instructions import counted, instructions
from measure import calibrate, empty_row, measure
from plan import CONTENDERS, entries, scenarios, usable_cpus


def refuse(why):
    print(f"bench: {why}", file=sys.stderr)
    raise SystemExit(2)


def settings_from(environment):
    quick = environment.get("QUICK", "") not in ("", "0")
    try:
        settings = {
            "only": environment.get("ONLY", ""),
            "workers": tuple(int(w) for w in re.split(r"[,\s]+", environment.get("WORKERS", "").strip()) if w),
            "rounds": int(environment.get("ROUNDS") or (3 if quick else 7)),
            "quick": quick,
        }
    except ValueError as error:
        refuse(f"WORKERS and ROUNDS are numbers: {error}")
    if settings["rounds"] < 1 or not all(1 <= w <= 1024 for w in settings["workers"]):
        refuse("ROUNDS is at least 1, and WORKERS are from 1 to 1024")
    for part in settings["only"].split("/", 1):
        try:
            re.compile(part)
        except re.error as error:
            refuse(f"ONLY={settings['only']} is no regular expression: {error}")
    return settings


def print_instructions(rows):
    print("instructions: per join, of fib with one worker")
    for row in rows:
        print(f"  {row['contender']:<20}", f"{row['per_join']:8.1f}" if row["per_join"] is not None else f"       - {row['why']}")
    print(flush=True)


def main(arguments):
    for unknown in set(arguments) - {"callgrind", "list"}:
        refuse(f"unknown argument {unknown}; the arguments are callgrind and list; bench/README.md has the rest")
    settings = settings_from(os.environ)
    timing = "callgrind" not in arguments
    counting = not timing or not settings["only"] or re.search(settings["only"].split("/")[0], "instructions")
    plan = [(s, *entries(s, settings["only"], settings["workers"])) for s in scenarios(settings["quick"])]
    plan = [(s, todo, left_out) for s, todo, left_out in plan if todo or left_out]
    if not (timing and plan or counting and counted(settings["only"])):
        refuse(f"nothing matches ONLY={settings['only']}; scripts/bench list prints what there is")
    if "list" in arguments:
        for scenario, todo, _ in plan:
            print(f"{scenario.name:20} {scenario.title}\n{'':20} {', '.join(dict.fromkeys(e.contender.name for e in todo))}")
        return 0

    out = Path(os.environ.get("OUT") or ROOT / "build" / "bench").absolute()
    out.mkdir(parents=True, exist_ok=True)
    builder = builder_for(out)
    results = {"host": report.host(usable_cpus()), "settings": settings, "rows": [], "instructions": [], "goals": []}
    if not timing and (out / "results.json").exists():
        results = json.loads((out / "results.json").read_text(encoding="utf-8"))

    if timing:
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
    if counting:
        rows = instructions(builder, settings["only"])
        print_instructions(rows)
        results["instructions"] = list({r["contender"]: r for r in results["instructions"] + rows}.values())

    results["goals"] = goals(results)
    news = results if timing else {**results, "rows": []}
    for goal in goals(news):
        print(f"{goal['goal']} {goal['bar']}:\n    g++ {goal['gcc']}\n    clang {goal['clang']}")
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (out / "results.md").write_text("\n".join(report.markdown(results, scenarios(results["settings"]["quick"]))) + "\n", encoding="utf-8")
    print(f"\n{out}/results.json, {out}/results.md")
    wrong = [r for r in news["rows"] if r.get("why", "").startswith("wrong result")]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
