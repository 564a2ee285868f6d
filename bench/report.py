"""Tables: for the terminal, for results.md, and what the machine was."""

import os
import platform
import subprocess
import time


def duration(ns):
    """1234567 -> 1.23 ms"""
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 999.5 * size else f"{ns / size:,.0f} {unit}"
    return f"{ns:.3g} ns" if ns < 999.5 else f"{ns:,.0f} ns"


def amount(scenario, value):
    """In the unit of the scenario."""
    if value is None or scenario.unit == "ns":
        return duration(value)
    return f"{value:,.0f} B"


def reference_of(scenario, row, rows):
    """What a row's ratio is against: a time, or None."""
    if scenario.reference == "futex":
        return row.get("futex_p50_ns")
    for other in rows:
        if other["contender"] == scenario.reference and other["workers"] in (row["workers"], 1):
            if other["workers"] == row["workers"] or scenario.reference == "serial":
                return other["median_ns"]
    return None


def remarks(row):
    notes = []
    if "why" in row:
        return row["why"]
    if "scaled_by" in row:
        notes.append(f"scaled up from size {row['size']}")
    if "futex_p50_ns" in row:
        notes.append(f"p99 {duration(row['p99_ns'])}; bare futex {duration(row['futex_p50_ns'])}, "
                     f"p99 {duration(row['futex_p99_ns'])}")
    if "start_p50_ns" in row:
        notes.append(f"idle core to job: p50 {duration(row['start_p50_ns'])}, p99 {duration(row['start_p99_ns'])}")
    if "mean_ns" in row:
        notes.append(f"mean {duration(row['mean_ns'])}, p99 {duration(row['p99_ns'])}")
    if "body_ns" in row:
        notes.append(f"body {duration(row['body_ns'])}; CPU time beyond it {row['cpu_overhead_ns']:.0f} ns")
    if "frame_bytes" in row:
        notes.append(f"frame {row['frame_bytes']:.0f} B")
    if "p99_frame_ns" in row:
        notes.append(f"p99 {duration(row['p99_frame_ns'])}; CPU time per frame, its sleep included {duration(row['cpu_ns'])}")
    if "build_ns" in row:
        notes.append(f"init {duration(row['init_ns'])}, sort {duration(row['sort_ns'])}, build {duration(row['build_ns'])}")
    if "switches" in row:
        notes.append(f"{row['switches']:.0f} context switches")
    return "; ".join(notes)


HEAD = ("contender", "workers", "median", "min", "max", "ratio", "cores", "MB", "")


def cells(scenario, rows):
    """The table of one scenario as strings, without its head."""
    for row in rows:
        name, workers = row["contender"], "" if row["workers"] is None else str(row["workers"])
        if row["median_ns"] is None:
            yield (name, workers, "-", "-", "-", "-", "-", "-", remarks(row))
            continue
        base = reference_of(scenario, row, rows)
        busy = scenario.kind not in ("wake", "idle", "life", "lifebridged", "latency", "spawnget", "enqueue1us", "spawn1us") and row["cpu_ns"]
        yield (name, workers, *(amount(scenario, row[key]) for key in ("median_ns", "min_ns", "max_ns")),
               f"{row['median_ns'] / base:.2f}" if base else "-",
               f"{row['cpu_ns'] / row['median_ns']:.2f}" if busy and row["median_ns"] else "-",
               f"{row['max_rss_kb'] / 1024:.0f}", remarks(row))


def text_table(scenario, rows):
    table = [HEAD, *((*line[:8], line[8][:110]) for line in cells(scenario, rows))]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
    lines = [f"{scenario.name}: {scenario.title}"]
    for line in table:
        lines.append("  " + "  ".join(c.ljust(w) if i in (0, 8) else c.rjust(w)
                                      for i, (c, w) in enumerate(zip(line, widths))).rstrip())
    return "\n".join(lines) + "\n"


def markdown_table(head, lines, left=(0,)):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "|".join(" --- " if i in left else " ---: " for i in range(len(head))) + "|"
    for line in lines:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def command_output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        for line in info:
            if line.lower().startswith(("model name", "cpu model")):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def commit():
    """Of this checkout, or of the one from which the bundle was made."""
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        with open(os.path.join(here, "..", "commit"), encoding="ascii") as noted:
            return noted.read().strip()
    except OSError:
        return command_output("git", "-C", here, "rev-parse", "--short", "HEAD")


def host(usable):
    return {
        "cpu": cpu_model(),
        "cpus": os.cpu_count(),
        "usable_cpus": usable,
        "kernel": platform.release(),
        "machine": platform.machine(),
        "compiler": command_output("g++", "--version").split("\n")[0],
        "rustc": command_output("rustc", "--version"),
        "load_average": os.getloadavg()[0],
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "commit": commit(),
    }


def markdown(results, scenarios):
    """results.md from what results.json holds."""
    h = results["host"]
    settings = results["settings"]
    yield "# Benchmarks"
    yield ""
    yield (f"{h['cpu']}, {h['usable_cpus']} of {h['cpus']} CPUs usable, Linux {h['kernel']}, {h['compiler']}, "
           f"{h['rustc'] or 'no Rust'}; {h['date']}, commit {h['commit'] or 'unknown'}, load {h['load_average']:.2f} at the start.")
    yield ""
    yield (f"Medians of up to {settings['rounds']} interleaved rounds, a process each. *ratio*: to the reference, plain calls "
           "where they make sense. *cores*: CPU time by time. bench/README.md says what each scenario does.")
    if results["goals"]:
        yield ""
        yield "## Goals"
        yield ""
        yield from markdown_table(("goal", "bar", "g++", "clang"),
                                  [(g["goal"], g["bar"], g["gcc"], g["clang"]) for g in results["goals"]], left=(0, 1))
    if results["instructions"]:
        yield ""
        yield "## Instructions per join"
        yield ""
        yield from markdown_table(("contender", "instructions", ""), [
            (r["contender"], "-" if r["per_join"] is None else f"{r['per_join']:.1f}", r.get("why", ""))
            for r in results["instructions"]])
    for scenario in scenarios:
        rows = [r for r in results["rows"] if r["scenario"] == scenario.name]
        if not rows:
            continue
        yield ""
        yield f"## {scenario.name}"
        yield ""
        yield f"{scenario.title}."
        yield ""
        yield from markdown_table(HEAD, cells(scenario, rows), left=(0, 8))
