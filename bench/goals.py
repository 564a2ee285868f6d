"""What Rubato asks of itself, checked against the rows of one run.

Each goal is written for both compilers: `own` is "rubato" or "rubato-clang", `plain` the serial program of the same one.
"Not worse" means that the intervals of the rounds overlap. A goal whose rows are missing says nothing.
"""

from plan import FORKING_PEERS


class Rows:
    def __init__(self, rows, cpus):
        self.rows = [r for r in rows if r["median_ns"] is not None]
        self.cpus = cpus

    def find(self, scenario, contender, workers=None):
        for row in self.rows:
            if row["scenario"] == scenario and row["contender"] == contender and row["workers"] == (workers or self.cpus):
                return row
        raise LookupError

    def names(self, prefix):
        return list(dict.fromkeys(r["scenario"] for r in self.rows if r["scenario"].startswith(prefix)))

    def one(self, prefix):
        names = self.names(prefix)
        if not names:
            raise LookupError
        return names[0]

    def best_other(self, scenario, candidates, workers=None):
        found = [r for r in self.rows if r["scenario"] == scenario and r["contender"] in candidates
                 and r["workers"] == (workers or self.cpus) or
                 r["scenario"] == scenario and r["contender"] == "serial" and "serial" in candidates]
        if not found:
            raise LookupError
        return min(found, key=lambda r: r["median_ns"])


def verdict(met, text):
    return f"{'met' if met else 'MISSED'}: {text}"


def at_most(row, other, factor):
    ratio = row["median_ns"] / other["median_ns"]
    return verdict(ratio <= factor, f"{ratio:.3g} x {other['contender']}")


def not_worse(row, other):
    ratio = row["median_ns"] / other["median_ns"]
    return verdict(row["min_ns"] <= other["max_ns"], f"{ratio:.3g} x {other['contender']}")


def worst(verdicts):
    """Of the same goal in several scenarios: the missed ones, else the tightest. Each is (scenario, verdict)."""
    verdicts = list(verdicts)
    missed = [f"{name} {text}" for name, text in verdicts if text.startswith("MISSED")]
    if missed:
        return "; ".join(missed)
    if not verdicts:
        raise LookupError
    return f"met: all {len(verdicts)}"


def crowded(rows, own):
    """The time with twice the workers by the time with one per core."""
    for row in rows.rows:
        if row["contender"] != own or row["workers"] != 2 * rows.cpus or row["scenario"] == "enqueue":
            continue
        yield row["scenario"], at_most(row, {**rows.find(row["scenario"], own), "contender": "fewer"}, 1.2)


def instructions(results, own, form, bar):
    name = own + form
    for row in results["instructions"]:
        if row["contender"] == name and row["per_join"] is not None:
            return verdict(row["per_join"] <= bar, f"{row['per_join']:.1f}")
    raise LookupError


def goals(results):
    rows = Rows(results["rows"], results["host"]["usable_cpus"])
    everyone = ("serial",) + FORKING_PEERS

    def trees(own, other, factor=None):
        large = [name for name in rows.names("tree-") if "M" in name and "10ns" not in name]
        judge = (lambda a, b: at_most(a, b, factor)) if factor else not_worse
        return worst((name, judge(rows.find(name, own), rows.find(name, other))) for name in large)

    table = [
        ("join in closures, instructions", "<= 50", lambda own, plain: instructions(results, own, "", 50)),
        ("join with a context, instructions", "<= 45", lambda own, plain: instructions(results, own, "-context", 45)),
        ("fib, 1 worker", "<= 1.3 x plain calls",
         lambda own, plain: at_most(rows.find(rows.one("fib"), own, 1), rows.find(rows.one("fib"), plain, 1), 1.3)),
        ("fib", "not worse than chili",
         lambda own, plain: not_worse(rows.find(rows.one("fib"), own), rows.find(rows.one("fib"), "chili"))),
        ("fib", "<= 1/30 of oneTBB",
         lambda own, plain: at_most(rows.find(rows.one("fib"), own), rows.find(rows.one("fib"), "onetbb"), 1 / 30)),
        ("skynet", "not worse than plain calls",
         lambda own, plain: not_worse(rows.find("skynet", own), rows.find("skynet", plain, 1))),
        ("nqueens", "not worse than the best",
         lambda own, plain: not_worse(rows.find(rows.one("nqueens"), own), rows.best_other(rows.one("nqueens"), everyone))),
        ("tree of 1,023 nodes", "<= 1.5 x plain calls",
         lambda own, plain: at_most(rows.find("tree-1023", own), rows.find("tree-1023", plain, 1), 1.5)),
        ("tree of 1,023 nodes", "<= 0.7 x chili",
         lambda own, plain: at_most(rows.find("tree-1023", own), rows.find("tree-1023", "chili"), 0.7)),
        ("large trees", "not worse than chili", lambda own, plain: trees(own, "chili")),
        ("large trees", "<= 1/3 of rayon", lambda own, plain: trees(own, "rayon", 1 / 3)),
        ("large trees", "<= 1/3 of Forte", lambda own, plain: trees(own, "forte", 1 / 3)),
        ("loops of every length", "not worse than the best of all",
         lambda own, plain: worst((n, not_worse(rows.find(n, own), rows.best_other(n, everyone)))
                                  for n in rows.names("iterate"))),
        ("enqueue, 1 worker", "<= 90 ns",
         lambda own, plain: (lambda ns: verdict(ns <= 90, f"{ns:.0f} ns"))(rows.find("enqueue", own, 1)["median_ns"])),
        ("enqueue, 1 worker", "<= 1/2 of the best",
         lambda own, plain: at_most(rows.find("enqueue", own, 1), rows.best_other(
             "enqueue", ("onetbb", "rayon", "forte", "mutex-queue", "asio"), 1), 0.5)),
        ("enqueue, 2, 4, 8 workers", "<= 1.5 x the same with 1",
         lambda own, plain: worst((f"{w} workers", at_most(rows.find("enqueue", own, w), rows.find("enqueue", own, 1), 1.5))
                                  for w in (2, 4, 8))),
        ("idle", "no wake-up after 3 ms",
         lambda own, plain: (lambda n: verdict(n == 0, f"{n:.0f}"))(rows.find("idle", own)["switches"])),
        ("wake of a sleeping pool, p50", "<= 1.2 x a bare futex",
         lambda own, plain: (lambda r: at_most(r, {"median_ns": r["futex_p50_ns"], "contender": "futex"}, 1.2))(
             rows.find("wake", own))),
        ("hidden job, idle core to start, p50", "<= 200 us",
         lambda own, plain: (lambda ns: verdict(ns <= 2e5, f"{ns / 1e3:.0f} us"))(rows.find("hidden", own, 2)["start_p50_ns"])),
        ("hidden job, idle core to start, p99", "<= 1 ms",
         lambda own, plain: (lambda ns: verdict(ns <= 1e6, f"{ns / 1e3:.0f} us"))(rows.find("hidden", own, 2)["start_p99_ns"])),
        ("twice as many workers as cores", "<= 1.2 x one per core", lambda own, plain: worst(crowded(rows, own))),
    ]

    def judged(check, own, plain):
        try:
            return check(own, plain)
        except LookupError:
            return "-"

    judgements = [{"goal": goal, "bar": bar, "gcc": judged(check, "rubato", "serial"),
                   "clang": judged(check, "rubato-clang", "serial-clang")} for goal, bar, check in table]
    return [g for g in judgements if (g["gcc"], g["clang"]) != ("-", "-")]
