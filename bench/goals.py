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

    def pairs(self, own, prefix, others):
        """Each row of the scenarios, with the best of the others at as many workers, if there is one."""
        for row in self.rows:
            if not row["scenario"].startswith(prefix) or row["contender"] != own:
                continue
            try:
                yield row, self.best_other(row["scenario"], others, row["workers"])
            except LookupError:
                pass


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
        if row["contender"] != own or row["workers"] != 2 * rows.cpus or row["scenario"] == "enqueue" or row["suite"]:
            continue
        yield row["scenario"], at_most(row, {**rows.find(row["scenario"], own), "contender": "fewer"}, 1.2)


PEERS = ("onetbb", "asio", "minirts", "concurrencpp", "toomanycooks", "libcoro", "cppcoro", "std-async")


def by_workers(rows, own, scenario, bar, others=PEERS):
    """At most `bar` times the best of the others, whatever the number of workers."""
    for row, best in rows.pairs(own, scenario, others):
        if row["scenario"] == scenario:
            yield f"{row['workers']} workers", at_most(row, best, bar)


def every(rows, own, prefix, others=PEERS):
    """Not worse than the best of the others."""
    for row, best in rows.pairs(own, prefix, others):
        yield f"{row['scenario']}, {row['workers']} workers", not_worse(row, best)


def beyond(bytes_each, used, bar):
    """Bytes beyond those that any program uses."""
    return verdict(round(bytes_each - used) <= bar, f"{bytes_each - used:.0f} B")


def instructions(results, own, form, bar):
    name = own + form
    for row in results["instructions"]:
        if row["contender"] == name and row["per_join"] is not None:
            return verdict(row["per_join"] <= bar, f"{row['per_join']:.1f}")
    raise LookupError


def goals(results):
    from goals_algorithms import algorithm_goals  # they import this module
    from goals_programs import program_goals

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
        ("enqueue, 1 worker", "<= 1/2 of MiniRTS",
         lambda own, plain: at_most(rows.find("enqueue-1-4", own, 1), rows.find("enqueue-1-4", "minirts", 1), 1 / 2)),
        ("spawn and get", "<= 1/3 of MiniRTS", lambda own, plain: worst(by_workers(rows, own, "spawn", 1 / 3, ("minirts",)))),
        ("spawn and get", "<= 1/2 of the best", lambda own, plain: worst(by_workers(rows, own, "spawn", 1 / 2))),
        ("then, per link", "<= 100 ns", lambda own, plain: worst(
            (f"{r['scenario']}, {r['workers']} workers", verdict(r["median_ns"] <= 100, f"{r['median_ns']:.0f} ns"))
            for r in rows.rows if r["scenario"].startswith("then") and r["contender"] == own)),
        ("then, per link", "<= 1/5 of MiniRTS", lambda own, plain: worst(
            v for kind in ("thenfirst", "thenlast") for v in by_workers(rows, own, kind, 1 / 5, ("minirts",)))),
        ("one task there and back", "not worse than the best that sleeps when idle", lambda own, plain: worst(
            every(rows, own, "latency", tuple(p for p in PEERS if p != "minirts")))),
        ("tasks of 1 us, overhead", "<= 1/2 of MiniRTS", lambda own, plain: worst(
            v for kind in ("enqueue1us", "spawn1us") for v in by_workers(rows, own, kind, 1 / 2, ("minirts",)))),
        ("call of a coroutine", "not worse than cppcoro and TooManyCooks", lambda own, plain: worst(
            every(rows, own, "call", ("cppcoro", "toomanycooks")))),
        ("frame of a coroutine", "not larger than cppcoro's and TooManyCooks's", lambda own, plain: worst(
            by_workers(rows, own, "framememory", 1, ("cppcoro", "toomanycooks")))),
        ("fib and skynet of coroutines", "not worse than TooManyCooks", lambda own, plain: worst(
            v for kind in ("cofib", "coskynet") for v in every(rows, own, kind, ("toomanycooks",)))),
        ("channel, mutex, semaphore", "not worse than the best", lambda own, plain: worst(
            v for kind in ("channel", "mutex", "semaphore") for v in every(rows, own, kind))),
        ("memory of a pending future", "<= 128 B beyond the result",
         lambda own, plain: beyond(rows.find("promisememory", own, 1)["median_ns"], 8, 128)),
        # The task that is spawned is a pointer, and so is the room for its exception.
        ("memory of a waiting coroutine", "<= 128 B beyond its frame, task and result",
         lambda own, plain: (lambda r: beyond(r["median_ns"], r["frame_bytes"] + 16, 128))(rows.find("suspendedmemory", own, 1))),
        ("idle", "no wake-up after 3 ms",
         lambda own, plain: (lambda n: verdict(n == 0, f"{n:.0f}"))(rows.find("idle", own)["switches"])),
        ("wake of a sleeping pool, p50", "<= 1.2 x a bare futex",
         lambda own, plain: (lambda r: at_most(r, {"median_ns": r["futex_p50_ns"], "contender": "futex"}, 1.2))(
             rows.find("wake", own))),
        ("hidden job, idle core to start, p50", "<= 200 us",
         lambda own, plain: (lambda ns: verdict(ns <= 2e5, f"{ns / 1e3:.0f} us"))(rows.find("hidden", own, 2)["start_p50_ns"])),
        ("hidden job, idle core to start, p99", "<= 1 ms",
         lambda own, plain: (lambda ns: verdict(ns <= 1e6, f"{ns / 1e3:.0f} us"))(rows.find("hidden", own, 2)["start_p99_ns"])),
        ("examples/pipeline", "<= 0.9 x Asio and oneTBB",
         lambda own, plain: at_most(rows.find("pipeline", own), rows.find("pipeline", "asio-onetbb"), 0.9)),
        ("twice as many workers as cores", "<= 1.2 x one per core", lambda own, plain: worst(crowded(rows, own))),
        *algorithm_goals(rows),
        *program_goals(rows),
    ]

    def judged(check, own, plain):
        try:
            return check(own, plain)
        except LookupError:
            return "-"

    judgements = [{"goal": goal, "bar": bar, "gcc": judged(check, "rubato", "serial"),
                   "clang": judged(check, "rubato-clang", "serial-clang")} for goal, bar, check in table]
    return [g for g in judgements if (g["gcc"], g["clang"]) != ("-", "-")]
