"""Runs a program that measures Rubato and its own baseline, row by row in interleaved rounds, and prints a table.

Read from the environment: ROUNDS (7)."""
import os
import pathlib
import statistics
import subprocess

root = pathlib.Path(__file__).resolve().parent.parent


def measure(program, rows, others=()):
    """rows: pairs of a title and the program's arguments. The program prints a line per contender: its name, figures. The
    others do the same, where they can be built."""
    subprocess.run(["cmake", "--preset", "bench"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", "--preset", "bench", "--target", program], cwd=root, check=True,
                   stdout=subprocess.DEVNULL)
    programs = [program] + [p for p in others if subprocess.run(["cmake", "--build", "--preset", "bench", "--target", p],
                                                                cwd=root, capture_output=True).returncode == 0]
    results = [{} for _ in rows]
    for _ in range(int(os.environ.get("ROUNDS") or 7)):
        for (_, arguments), result in zip(rows, results):
            for p in programs:
                command = [root / "build/bench/bench" / p, *arguments.split()]
                said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
                for line in said.splitlines():
                    contender, *figures = line.split()
                    result.setdefault(contender, []).append([float(x) for x in figures])
    print("| what | contender | figures: median (minimum-maximum) |\n|---|---|---|")
    for (what, _), result in zip(rows, results):
        for contender, measured in result.items():
            print("|", what, "|", contender, "|", "; ".join(
                f"{statistics.median(x):g} ({min(x):g}-{max(x):g})" for x in zip(*measured)), "|")
