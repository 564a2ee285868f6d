#!/usr/bin/env python3
"""How Rubato's time falls with the number of workers, beside serial code and the ideal. README.md

    bench/scaling.py             # measures; prints a table; OUT/scaling.json, scaling.md and scaling.svg
    bench/scaling.py --publish   # and writes the last two to bench/results/ and docs/images/
    bench/scaling.py --draw      # the same without measuring, from OUT/scaling.json

Read from the environment: OUT (build/bench), ROUNDS (7), QUICK, WORKERS (1,2,4,6,8,... up to twice the CPUs).
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import report
from build import ROOT, builder_for
from measure import calibrate, measure
from plan import CONTENDERS, entries, scenarios, usable_cpus
from run import refuse, settings_from

# The scenarios by the beginnings of their names, and what they are called here.
SHOWN = {"tasks-250us": "4,000 tasks of 250 us", "fib": "fib(39), a fork at every call", "iterate-1M-10ns": "a loop over 10^6 items of 10 ns",
         "sort-int-10M": "sort of 10^7 ints", "cofib": "fib(25) by coroutines"}
QUICK = {"tasks-250us": "400 tasks of 250 us", "fib": "fib(32), a fork at every call", "iterate-1M-10ns": "a loop over 10^6 items of 10 ns",
         "sort-int-100k": "sort of 10^5 ints", "cofib": "fib(18) by coroutines"}
COLOURS = ("#d35400", "#3b6ea8", "#2e8b57", "#8e44ad", "#b8860b")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, PLOT = 820, 420, 56, 64, 52, 440

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 11px; fill: #57606a }
  .grid { stroke: #d0d7de } .ideal { stroke: #57606a; stroke-dasharray: 5 4; fill: none } .cpus { stroke: #57606a; stroke-dasharray: 1 4 }
  .line { fill: none; stroke-width: 2 } .back { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #30363d } .ideal, .cpus { stroke: #9198a1 } .back { fill: #0d1117 }
  }
"""


def numbers_of_workers(cpus):
    some = [1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]
    return tuple(sorted({w for w in some if w <= 2 * cpus} | {cpus}))


def chosen(quick, workers):
    """(what it is called, scenario)"""
    for scenario in scenarios(quick):
        for begin, name in (QUICK if quick else SHOWN).items():
            if scenario.name == begin or begin in ("fib", "cofib") and scenario.kind == begin:
                serial = ("serial",) if "serial" in scenario.contenders else ()
                yield name, replace(scenario, contenders=(*serial, "rubato"), own_workers=workers)


def measured(settings, out):
    cpus = usable_cpus()
    workers = settings["workers"] or numbers_of_workers(cpus)
    results = {"host": report.host(cpus), "rounds": settings["rounds"], "workers": workers, "rows": []}
    if results["host"]["load_average"] > 0.5:
        print(f"the machine is busy (load {results['host']['load_average']:.1f}): these times will mean little", file=sys.stderr)
    builder = builder_for(out)
    plan = [(name, s, entries(s, "", ())[0]) for name, s in chosen(settings["quick"], workers)]
    for contender in {CONTENDERS["serial"]: None, **{e.contender: None for _, _, todo in plan for e in todo}}:
        builder.build(contender)
    if not builder.program(CONTENDERS["serial"]):
        raise SystemExit(f"the serial program is needed to calibrate the busy loop: {builder.why(CONTENDERS['serial'])}")
    steps, _ = calibrate(builder.program(CONTENDERS["serial"]))
    for name, scenario, todo in plan:
        rows = measure(scenario, todo, builder, settings["rounds"], steps)
        wrong = [r for r in rows if "why" in r and r["contender"] == "rubato"]
        if wrong:
            raise SystemExit(f"{name}: {wrong[0]['why']}")
        times = {r["workers"]: [r[k] for k in ("median_ns", "min_ns", "max_ns")] for r in rows if r["contender"] == "rubato"}
        serial = next(([r[k] for k in ("median_ns", "min_ns", "max_ns")] for r in rows if r["contender"] == "serial" and "why" not in r), None)
        results["rows"].append({"name": name, "scenario": scenario.name, "serial": serial, "times": times})
        print("\n".join(table_of(results["rows"][-1])), flush=True)
    return results


def base_of(row):
    """The time that the ideal divides by the workers: of serial code or of one worker, whichever is shorter."""
    return min(times[0] for times in (row["serial"], row["times"][min(row["times"])]) if times)


def table_of(row):
    yield f"{row['name']}: " + (f"serial {report.duration(row['serial'][0])}" if row["serial"] else "without a serial form")
    for workers, (median, least, most) in sorted(row["times"].items()):
        yield (f"  {workers:3} worker{'s' if workers > 1 else ' '} {report.duration(median):>9} ({report.duration(least)}-{report.duration(most)})"
               f"  {base_of(row) / median:5.2f} x")


def markdown(results):
    h = results["host"]
    yield "# Scaling"
    yield ""
    yield (f"`make scaling` on {h['cpu']}, {h['usable_cpus']} of {h['cpus']} CPUs usable, Linux {h['kernel']}, {h['compiler']}; {h['date'][:10]}, "
           f"commit {h['commit'] or 'unknown'}, load {h['load_average']:.2f} at the start.")
    yield (f"Medians of {results['rounds']} rounds (minimum-maximum), a process each. Speed-up: over serial code by the same compiler or one "
           "worker, whichever is faster (the serial sort is `std::sort`).")
    yield "The ideal is the number of workers, and no more than the CPUs. A virtual CPU may be half of a core."
    yield ""
    head = ("what", "serial", *(f"{w} worker{'s' if w > 1 else ''}" for w in results["workers"]))
    yield from report.markdown_table(head, [
        (row["name"], report.duration(row["serial"][0]) if row["serial"] else "-",
         *(f"{report.duration(t[0])} ({report.duration(t[1])}-{report.duration(t[2])}), {base_of(row) / t[0]:.2f} x"
           for _, t in sorted(row["times"].items()))) for row in results["rows"]])
    for row in results["rows"]:
        if row["scenario"] == "tasks-250us":
            tasks = int(row["name"].split()[0].replace(",", ""))
            yield ""
            yield "Tasks of 250 us per second: " + ", ".join(
                f"{tasks / t[0] * 1e9:,.0f} with {w} worker{'s' if w > 1 else ''}" for w, t in sorted(row["times"].items())) + "."


def svg(results):
    h = results["host"]
    workers = results["workers"]
    cpus = h["usable_cpus"]
    speeds = [(row["name"], [(w, base_of(row) / t[0]) for w, t in sorted(row["times"].items())]) for row in results["rows"]]
    highest = max([min(max(workers), cpus), *(s for _, points in speeds for _, s in points)]) * 1.08
    step = next(s for s in (0.5, 1, 2, 4, 8, 16, 32) if highest / s <= 8)

    def x(w):
        return LEFT + PLOT * workers.index(w) / max(1, len(workers) - 1)

    def y(speed):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * speed / highest

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
           'aria-label="Speed-up by the number of workers">')
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="back" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
    yield '<text class="title" x="16" y="26">Speed-up over serial code or one worker, whichever is faster</text>'
    yield (f'<text class="small" x="16" y="44">{h["cpu"]}, {cpus} CPUs; medians of {results["rounds"]} rounds; dashed: the ideal; higher is better</text>')
    for i in range(int(highest / step) + 1):
        at = y(i * step)
        yield f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{LEFT + PLOT}" y2="{at:.1f}"/>'
        yield f'<text class="small" x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{i * step:g}</text>'
    for w in workers:
        yield f'<text class="small" x="{x(w):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{w}</text>'
    yield f'<text class="small" x="{LEFT + PLOT / 2}" y="{HEIGHT - 14}" text-anchor="middle">workers</text>'
    yield '<path class="ideal" d="M' + " L".join(f"{x(w):.1f} {y(min(w, cpus)):.1f}" for w in workers) + '"/>'
    ends = []
    for (name, points), colour in zip(speeds, COLOURS):
        yield f'<path class="line" stroke="{colour}" d="M' + " L".join(f"{x(w):.1f} {y(s):.1f}" for w, s in points) + '"/>'
        for w, s in points:
            yield f'<circle cx="{x(w):.1f}" cy="{y(s):.1f}" r="3" fill="{colour}"/>'
        ends.append([y(points[-1][1]), name, points[-1][1], colour])
    ends.sort()
    for above, below in zip(ends, ends[1:]):  # the labels one below the other
        below[0] = max(below[0], above[0] + 17)
    for at, name, speed, colour in ends:
        yield f'<circle cx="{LEFT + PLOT + 14}" cy="{at:.1f}" r="4" fill="{colour}"/>'
        yield f'<text x="{LEFT + PLOT + 24}" y="{at + 4:.1f}">{name.replace("&", "and")}</text>'
        yield f'<text class="small" x="{WIDTH - 12}" y="{at + 4:.1f}" text-anchor="end">{speed:.2f} x</text>'
    yield "</svg>"


def main(arguments):
    for unknown in set(arguments) - {"--publish", "--draw"}:
        refuse(f"unknown argument {unknown}; the arguments are --publish and --draw")
    out = Path(os.environ.get("OUT") or ROOT / "build" / "bench").absolute()
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "scaling.json"
    if "--draw" not in arguments:
        kept.write_text(json.dumps(measured(settings_from(os.environ), out), indent=1) + "\n", encoding="utf-8")
    if not kept.exists():
        refuse(f"there is no {kept}: measure first")
    results = json.loads(kept.read_text(encoding="utf-8"))
    for row in results["rows"]:
        row["times"] = {int(w): t for w, t in row["times"].items()}  # JSON's keys are strings
    table, picture = "\n".join(markdown(results)) + "\n", "\n".join(svg(results)) + "\n"
    targets = {out / "scaling.md": table, out / "scaling.svg": picture}
    if "--publish" in arguments:
        targets[ROOT / "bench" / "results" / f"scaling-{results['host']['usable_cpus']}-cpus.md"] = table
        targets[ROOT / "docs" / "images" / "scaling.svg"] = picture
    for path, text in targets.items():
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(sys.argv[1:])
