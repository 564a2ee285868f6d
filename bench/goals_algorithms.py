"""What Rubato asks of its algorithms, as goals.py of the rest."""

from goals import at_most, not_worse, worst

PASSES = ("scan", "min", "find", "reduce", "transform")
COPIES = ("copyif", "filter", "partition")
LIBRARIES = ("serial", "serial-clang", "std-par", "gnu-parallel", "openmp", "onetbb", "rayon")


def algorithm_goals(rows):
    sizes = {row["scenario"]: row["size"] for row in rows.rows if row["suite"] == "algorithms"}

    def named(kind, least=0, most=10**9):
        """The scenarios of a kind, back to back."""
        return [name for name, size in sizes.items()
                if name.rsplit("-", 1)[0] == kind and least <= size <= most and not name.endswith("-slept")]

    def largest(kind):
        return max(named(kind), key=sizes.get, default="")

    def versus(kind, factor, *others):
        """The largest size, against the best of the others."""
        return lambda own, plain: at_most(rows.find(largest(kind), own), best(largest(kind), others), factor)

    def best(name, others):
        found = [r for r in rows.rows if r["scenario"] == name and r["contender"] in others]
        if not found:
            raise LookupError
        return min(found, key=lambda r: r["median_ns"])

    def each(kinds, least, most, judge):
        def judged(own, plain):
            for kind in kinds:
                for name in named(kind, least, most):
                    try:
                        yield name, judge(name, own)
                    except LookupError:
                        pass
        return lambda own, plain: worst(judged(own, plain))

    def within(factor, *others):
        return lambda name, own: at_most(rows.find(name, own), best(name, others), factor)

    return [
        ("sort of ints", "<= 0.4 x IPS4o", versus("sort-int", 0.4, "ips4o")),
        ("sort of doubles", "<= 0.5 x IPS4o", versus("sort-double", 0.5, "ips4o")),
        ("sort of ints by a comparator", "<= the best of IPS4o and rayon", versus("sort-int-less", 1, "ips4o", "rayon")),
        ("sort of doubles by a comparator", "<= 1.05 x the best of IPS4o and rayon",
         versus("sort-double-less", 1.05, "ips4o", "rayon")),
        ("sort of records", "<= rayon", versus("sort-record", 1, "rayon")),
        ("sort of strings", "<= 0.6 x rayon", versus("sort-string", 0.6, "rayon")),
        ("sort of what is sorted or equal", "<= 1.5 x a pass",
         each(("sort-sorted", "sort-constant"), 0, 10**9, within(1.5, "limit"))),
        ("sort of what is reversed", "<= 1.5 x a reverse by all threads", versus("sort-reversed", 1.5, "limit")),
        ("sort of ten values", "<= rayon", versus("sort-ten", 1, "rayon")),
        ("sort of 10^2 to 10^4", "<= 1.1 x Rust's sort_unstable", each(("sort-int",), 0, 10**4, within(1.1, "rust"))),
        ("sort of 10^2 to 10^4", "<= 0.6 x std::sort", each(("sort-int",), 0, 10**4, within(0.6, "serial", "serial-clang"))),
        ("stable_sort of ints", "<= 1.25 x rayon", versus("stable-int", 1.25, "rayon")),
        ("stable_sort of records", "<= 0.95 x Rust's serial one", versus("stable-record", 0.95, "rust")),
        ("copy_if, filter, partition to 10^6", "<= a loop without branches",
         each(COPIES, 0, 10**6, within(1, "serial-tuned"))),
        ("copy_if, filter, partition beyond", "<= 0.7 x a loop without branches",
         each(COPIES, 10**6 + 1, 10**9, within(0.7, "serial-tuned"))),
        ("one or two passes", "not worse than serial std", each(PASSES, 0, 10**9, lambda name, own: not_worse(
            rows.find(name, own), best(name, ("serial", "serial-clang"))))),
        ("one or two passes, from 10^5 on", "not worse than the best of all", each(PASSES, 10**5, 10**9, lambda name, own: not_worse(
            rows.find(name, own), best(name, LIBRARIES)))),
        ("one or two passes, from 10^7 on", "<= 1.1 x what the memory allows", each(PASSES, 10**7, 10**9, within(1.1, "limit"))),
        ("deterministic reduce, from 10^5 on", "<= 1.1 x the other one",
         each(("reduce",), 10**5, 10**9, lambda name, own: at_most(rows.find(name, own + "-deterministic"), rows.find(name, own), 1.1))),
        ("histogram by local()", "<= 1.5 x with local() hoisted",
         lambda own, plain: at_most(rows.find(largest("histogram"), own), rows.find(largest("histogram"), own + "-hoisted"), 1.5)),
        ("sweeps over 1.5 MB", "<= 1.1 x OpenMP's static schedule", versus("sweeps", 1.1, "openmp")),
    ]
