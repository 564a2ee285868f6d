#!/usr/bin/env python3
"""Draws docs/images/peers.svg from bench/results/peers.md: Rubato's time over that of each peer, by program.

    bench/peers/chart.py [TABLE.md [OUTPUT.svg]]
"""

import math
import re
import sys
from pathlib import Path

ROOT = Path(__file__).absolute().parent.parent.parent
COLOURS = {"libfork": "#3b6ea8", "TooManyCooks": "#d35400", "Taskflow": "#2e8b57", "oneTBB": "#8e44ad"}
WIDTH, LEFT, RIGHT, TOP, ROW = 820, 260, 30, 84, 19
TICKS = (0.1, 0.2, 0.5, 1, 2, 4)

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 16px; font-weight: 600 } .small { font-size: 11px; fill: #57606a }
  .grid { stroke: #d0d7de } .one { stroke: #57606a } .back { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #30363d } .one { stroke: #9198a1 } .back { fill: #0d1117 }
  }
"""


def ratios(table):
    """(what, [(peer, ratio)]) for each program, number of threads and variant of ours, in the table's order."""
    found = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 7 or not cells[1].isdigit() or not cells[6]:
            continue
        benchmark, threads, peer = cells[0].split()[0] if cells[0].startswith("uts") else cells[0], cells[1], cells[2]
        for ratio, variant in re.findall(r"([\d.]+) (\w+)", cells[6]):
            found.setdefault(f"{benchmark}, {variant}, {threads} thread{'s' if threads != '1' else ''}", []).append((peer, float(ratio)))
    if not found:
        raise SystemExit("there are no ratios in this table")
    return list(found.items())


def svg(table):
    rows = ratios(table)
    machine = re.search(r"- machine: ([^,]*, \d+ CPUs)", table)
    compiler = re.search(r"- compiler: (?:Debian )?(clang|g\+\+|GCC)[^,`]*?(\d+)\.", table)
    low, high = math.log(TICKS[0]), math.log(TICKS[-1])

    def x(ratio):
        place = (math.log(min(max(ratio, TICKS[0]), TICKS[-1])) - low) / (high - low)
        return LEFT + (WIDTH - LEFT - RIGHT) * place

    height = TOP + ROW * len(rows) + 36
    peers = [p for p in COLOURS if any(p == name for _, found in rows for name, _ in found)]
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
           'aria-label="Time of Rubato over that of other libraries">')
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="back" width="{WIDTH}" height="{height}" rx="6"/>'
    yield '<text class="title" x="16" y="26">Time of Rubato over that of other libraries</text>'
    where = ", ".join(m for m in (machine and machine[1], compiler and f"{compiler[1]} {compiler[2]}") if m)
    yield f'<text class="small" x="16" y="44">{where}; medians of 7 rounds; logarithmic; left of 1 Rubato is faster</text>'
    for i, peer in enumerate(peers):
        yield f'<circle cx="{LEFT + 130 * i}" cy="62" r="4" fill="{COLOURS[peer]}"/>'
        yield f'<text x="{LEFT + 130 * i + 10}" y="66">{peer}</text>'
    for tick in TICKS:
        kind = "one" if tick == 1 else "grid"
        yield f'<line class="{kind}" x1="{x(tick):.1f}" y1="{TOP - 6}" x2="{x(tick):.1f}" y2="{height - 30}"/>'
        yield f'<text class="small" x="{x(tick):.1f}" y="{height - 14}" text-anchor="middle">{tick:g}</text>'
    for i, (what, found) in enumerate(rows):
        y = TOP + ROW * i + 8
        yield f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{what}</text>'
        for peer, ratio in found:
            yield f'<circle cx="{x(ratio):.1f}" cy="{y}" r="4" fill="{COLOURS[peer]}"><title>{peer}: {ratio:.2f}</title></circle>'
    yield "</svg>"


def main(arguments):
    source = Path(arguments[0]) if arguments else ROOT / "bench" / "results" / "peers.md"
    target = Path(arguments[1]) if len(arguments) > 1 else ROOT / "docs" / "images" / "peers.svg"
    target.write_text("\n".join(svg(source.read_text(encoding="utf-8"))) + "\n", encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main(sys.argv[1:])
