"""The scenarios of the suite "algorithms": sorts, copies, searches, sums, beside those of other libraries."""

from plan import RUBATO, SERIAL, Scenario, count

SORTERS = SERIAL + RUBATO + ("rust", "std-par", "gnu-parallel", "onetbb", "ips4o", "rayon")
STABLE_SORTERS = tuple(c for c in SORTERS if c not in ("onetbb", "ips4o"))
SUITE = {"suite": "algorithms", "own_workers": ("P",), "at_most": {"rust": 1, "serial-tuned": 1}}

# kind: what it does, bytes of an item in all arrays, contenders besides the serial ones and Rubato
PASSES = {
    "scan": ("Running sums of doubles", 16, ("std-par", "gnu-parallel", "openmp", "onetbb")),
    "transform": ("2 x + 1 of doubles", 16, ("std-par", "gnu-parallel", "openmp", "onetbb", "rayon")),
    "map": ("2 x + 1 of doubles into a new vector", 24, ("rayon",)),
    "reduce": ("The sum of doubles", 8, ("serial-tuned", "rubato-deterministic", "std-par", "gnu-parallel", "openmp",
                                         "onetbb", "onetbb-deterministic", "rayon")),
    "min": ("The place of the least int", 4, ("serial-tuned", "std-par", "gnu-parallel", "openmp", "onetbb", "rayon")),
    "find": ("A search in vain among ints", 4, ("serial-tuned", "std-par", "gnu-parallel", "rayon")),
}
COPIES = {
    "copyif": ("Copies the odd half of random ints", ("serial-tuned", "std-par")),
    "filter": ("The same into a new vector", ("serial-tuned", "rayon")),
    "partition": ("The odd half of random ints first", ("serial-tuned", "std-par", "gnu-parallel")),
}


def scenario(kind, n, title, contenders, slept=False, **more):
    suffix, when = ("-slept", "; after 5 ms of sleep, median") if slept else ("", "")
    return Scenario(f"{kind}-{count(n)}{suffix}", kind + suffix, n, title + when, contenders, **SUITE, **more)


def sorts(quick):
    large = 10**5 if quick else 10**7
    for kind, what in (("int", "random ints"), ("int-less", "random ints by a comparator"), ("double", "random doubles"),
                       ("double-less", "random doubles by a comparator"), ("record", "records of 16 bytes by their keys")):
        yield scenario(f"sort-{kind}", large, f"Sorts {large:,} {what}", SORTERS)
    strings = large // 2
    yield scenario("sort-string", strings, f"Sorts {strings:,} strings of 12 to 18 letters", SORTERS)
    for kind, what in (("sorted", "ints that are sorted; limit: a pass"), ("constant", "equal ints; limit: a pass"),
                       ("reversed", "ints in reverse order; limit: a reverse by all threads"), ("ten", "ints of ten values")):
        yield scenario(f"sort-{kind}", large, f"Sorts {large:,} {what}", SORTERS + (() if kind == "ten" else ("limit",)))
    for n in (100, 1000, 10_000):
        yield scenario("sort-int", n, f"Sorts {n:,} random ints, again and again, others each time; per sort", SORTERS)
    for n in (10_000,) if quick else (10_000, 1_000_000):
        yield scenario("sort-int", n, f"Sorts {n:,} random ints", SORTERS, slept=True)
    yield scenario("stable-int", large, f"Sorts {large:,} random ints, stable", STABLE_SORTERS)
    yield scenario("stable-record", large, f"Sorts {large:,} records by their keys, stable", STABLE_SORTERS)


def passes(quick):
    for kind, (title, others) in COPIES.items():
        for n in (10**5,) if quick else (10**5, 10**6, 10**7):
            yield scenario(kind, n, f"{title}, {n:,} of them", SERIAL + RUBATO + others)
        n = 10**5 if quick else 10**6
        yield scenario(kind, n, f"{title}, {n:,} of them", SERIAL + RUBATO + others, slept=True)
    for kind, (title, size, others) in PASSES.items():
        sizes = (10**5, 10**6, 10**7) if kind == "map" else (10**3, 10**5, 10**7, 10**8)
        for n in (n for n in sizes if n <= 10**5 or not quick):
            limit = ("limit",) if n >= 10**7 and kind != "map" else ()
            yield scenario(kind, n, f"{title}, {n:,} of them", SERIAL + RUBATO + others + limit, memory=size * n)
        for n in (10**5,) if quick else (10**5, 10**7):
            yield scenario(kind, n, f"{title}, {n:,} of them", SERIAL + RUBATO + others, slept=True)
    n = 10**5 if quick else 10**7
    yield scenario("histogram", n, f"Counts the values of {n:,} bytes", SERIAL + RUBATO + ("rubato-hoisted", "openmp", "onetbb", "rayon"))
    times = 10 if quick else 1000
    yield scenario("sweeps", times, f"Adds 1 to each double of 1.5 MB, {times:,} times in a row; per sweep",
                   SERIAL + RUBATO + ("std-par", "gnu-parallel", "openmp", "onetbb", "rayon"))


def algorithms(quick):
    yield from sorts(quick)
    yield from passes(quick)
