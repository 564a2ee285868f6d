"""Instructions per join, counted by callgrind.

fib of two sizes with one worker: the difference of the counts by the difference of the joins. What starts and ends a
process cancels out, and no clock is involved, so the count is the same in every run.
"""

import re
import shutil
import subprocess

from plan import CONTENDERS, fib_forks, selected

SIZES = (20, 24)
COUNTED = ("serial", "serial-clang", "rubato", "rubato-context", "rubato-clang", "rubato-clang-context", "rayon", "chili",
           "forte")


def count(program, kind, size):
    """Instructions of one process, all threads together; or a string that says what went wrong."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), kind, "1", str(size)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        return "not done after 180 s"
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        return (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return int(collected.group(1))


def counted(only):
    return [name for name in COUNTED if selected(only, "instructions", name)]


def instructions(builder, only):
    rows = []
    for name in counted(only):
        contender = CONTENDERS[name]
        builder.build(contender)
        row = {"contender": name, "per_join": None}
        rows.append(row)
        if not shutil.which("valgrind"):
            row["why"] = "no valgrind"
        elif not builder.program(contender):
            row["why"] = builder.why(contender)
        else:
            kind = contender.forms.get("fib", "fib")
            few, many = (count(builder.program(contender), kind, n) for n in SIZES)
            if isinstance(few, str) or isinstance(many, str):
                row["why"] = few if isinstance(few, str) else many
            else:
                row["per_join"] = (many - few) / (fib_forks(SIZES[1]) - fib_forks(SIZES[0]))
    return rows
