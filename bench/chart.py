#!/usr/bin/env python3
"""Draws docs/images/fib.svg from results.json: what one fork costs, each contender's fib without cutoff.

    bench/chart.py [RESULTS.json [OUTPUT.svg]]
"""

import json
import math
import re
import sys
from pathlib import Path

from build import ROOT
from plan import fib_forks

SHOWN = {"serial": "plain calls", "rubato": "Rubato", "rubato-context": "Rubato, context", "chili": "chili", "forte": "Forte",
         "rayon": "rayon", "openmp": "OpenMP tasks", "onetbb": "oneTBB"}
WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 820, 140, 60, 64, 13, 13

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 11px; fill: #57606a }
  .range { stroke: #24292f; fill: none } .grid { stroke: #d0d7de } .back { fill: #ffffff }
  .one { fill: #9cb8d9 } .all { fill: #3b6ea8 } .own.one { fill: #f0b27a } .own.all { fill: #d35400 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .range { stroke: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #30363d } .back { fill: #0d1117 }
  }
"""


def per_fork(results):
    """{contender: {workers: (median, min, max) in ns per fork}} of the fib scenario, and its number."""
    rows = [r for r in results["rows"] if r["scenario"].startswith("fib") and r["median_ns"] is not None]
    if not rows:
        raise SystemExit("there is no fib in these results")
    n = int(rows[0]["scenario"].removeprefix("fib"))
    costs = {}
    for row in rows:
        costs.setdefault(row["contender"], {})[row["workers"]] = tuple(
            row[key] / fib_forks(n) for key in ("median_ns", "min_ns", "max_ns"))
    return costs, n


def svg(results):
    costs, n = per_fork(results)
    cpus = results["host"]["usable_cpus"]
    rounds = max(row["rounds"] for row in results["rows"] if row["scenario"] == f"fib{n}" and row["median_ns"] is not None)
    compiler = re.sub(r" \(.*\)", "", results["host"]["compiler"])
    bars = []  # (label, own, {workers: (median, min, max)})
    for name, label in SHOWN.items():
        chosen = {w: ns for w, ns in costs.get(name, {}).items() if w in (1, cpus)}
        if chosen:
            bars.append((label, name.startswith("rubato"), chosen))
    bars.sort(key=lambda bar: bar[2].get(cpus, bar[2].get(1))[0])

    values = [ns for _, _, chosen in bars for spread in chosen.values() for ns in spread]
    low, high = math.floor(math.log10(min(values))), math.log10(max(values)) + 0.1
    span = WIDTH - LEFT - RIGHT

    def x(ns):
        return LEFT + span * (math.log10(ns) - low) / (high - low)

    height = TOP + sum(len(chosen) * BAR + GAP for _, _, chosen in bars) + 44
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           f'role="img" aria-label="Nanoseconds per fork of fib({n})">')
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="back" width="{WIDTH}" height="{height}" rx="6"/>'
    yield f'<text class="title" x="16" y="26">What a fork costs: fib({n}) without cutoff, ns per fork</text>'
    yield (f'<text class="small" x="16" y="44">{results["host"]["cpu"]}, {cpus} CPUs, {compiler}; pale: 1 worker, strong: {cpus} workers; '
           f"median and range of up to {rounds} runs; logarithmic, shorter is better</text>")
    for exponent in range(low, math.floor(high) + 1):
        place = x(10**exponent)
        yield f'<line class="grid" x1="{place:.1f}" y1="{TOP - 8}" x2="{place:.1f}" y2="{height - 34}"/>'
        yield f'<text class="small" x="{place:.1f}" y="{height - 18}" text-anchor="middle">{10.0**exponent:g} ns</text>'
    y = TOP
    for label, own, chosen in bars:
        middle = y + len(chosen) * BAR / 2
        yield f'<text x="{LEFT - 10}" y="{middle + 4.5:.1f}" text-anchor="end">{label}</text>'
        for workers, (ns, least, most) in sorted(chosen.items()):
            style = ("own " if own else "") + ("one" if workers == 1 and cpus != 1 else "all")
            yield f'<rect class="{style}" x="{LEFT}" y="{y}" width="{x(ns) - LEFT:.1f}" height="{BAR - 1}" rx="2"/>'
            yield (f'<path class="range" d="M{x(least):.1f} {y + BAR / 2 - 0.5} H{x(most):.1f} M{x(least):.1f} {y + 3} v6 '
                   f'M{x(most):.1f} {y + 3} v6"/>')
            yield f'<text class="small" x="{x(most) + 6:.1f}" y="{y + BAR - 3}">{ns:.3g}</text>'
            y += BAR
        y += GAP
    yield "</svg>"


def main(arguments):
    source = Path(arguments[0]) if arguments else ROOT / "build" / "bench" / "results.json"
    target = Path(arguments[1]) if len(arguments) > 1 else ROOT / "docs" / "images" / "fib.svg"
    results = json.loads(source.read_text(encoding="utf-8"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(svg(results)) + "\n", encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
