"""The measurements: the scenarios, their contenders, the numbers of workers and the sizes.

A scenario's `kind` and `size` are what the programs get on their command lines; its name is what people read. `P` stands
for the CPUs that this process may use, "2P" for a pool twice that size. The scenarios of a `suite` are in programs of their
own.
"""

import os
import re
from dataclasses import dataclass, field, replace


def usable_cpus():
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Contender:
    name: str
    program: str  # bench-<program>
    toolchain: str  # gcc, clang, cargo; peer: a program that the user has built, see RUBATO_PEERS_DIR
    forms: dict = field(default_factory=dict, hash=False)  # kind -> the kind that this form of it goes by


CONTENDERS = {c.name: c for c in [
    Contender("serial", "serial", "gcc"),
    Contender("serial-clang", "serial", "clang"),
    Contender("rubato", "rubato", "gcc"),
    Contender("rubato-context", "rubato", "gcc", {"fib": "fibctx", "tree": "treectx"}),
    Contender("rubato-loop", "rubato", "gcc", {"skynet": "skynetloop", "nqueens": "nqueensloop"}),
    Contender("rubato-clang", "rubato", "clang"),
    Contender("rubato-clang-context", "rubato", "clang", {"fib": "fibctx", "tree": "treectx"}),
    Contender("serial-tuned", "serial-tuned", "gcc"),
    Contender("limit", "limit", "gcc"),
    Contender("rubato-deterministic", "rubato", "gcc", {"reduce": "reducefixed", "reduce-slept": "reducefixed-slept"}),
    Contender("rubato-hoisted", "rubato", "gcc", {"histogram": "histogramhoisted"}),
    Contender("onetbb", "onetbb", "gcc"),
    Contender("onetbb-deterministic", "onetbb", "gcc", {"reduce": "reducefixed", "reduce-slept": "reducefixed-slept"}),
    Contender("openmp", "openmp", "gcc"),
    Contender("mutex-queue", "mutex-queue", "gcc"),
    Contender("asio", "asio", "gcc"),
    Contender("asio-onetbb", "asio-onetbb", "gcc"),
    Contender("std-par", "std-par", "gcc"),
    Contender("gnu-parallel", "gnu-parallel", "gcc"),
    Contender("ips4o", "ips4o", "gcc"),
    Contender("rayon", "rayon", "cargo"),
    Contender("rust", "rust", "cargo"),
    Contender("chili", "chili", "cargo"),
    Contender("forte", "forte", "cargo"),
    Contender("std-async", "std-async", "gcc"),
    Contender("minirts", "minirts", "peer"),
    Contender("concurrencpp", "concurrencpp", "peer"),
    Contender("toomanycooks", "toomanycooks", "peer"),
    Contender("libcoro", "libcoro", "peer"),
    Contender("cppcoro", "cppcoro", "peer"),
]}

RUBATO = ("rubato", "rubato-clang")
CONTEXT = ("rubato-context", "rubato-clang-context")
LOOP = ("rubato-loop",)
SERIAL = ("serial", "serial-clang")
FORKING_PEERS = ("onetbb", "openmp", "rayon", "chili", "forte")
FORKING = SERIAL + RUBATO + FORKING_PEERS
QUEUEING = RUBATO + ("onetbb", "rayon", "forte", "mutex-queue", "asio")
FUTURES = RUBATO + ("onetbb", "asio", "minirts", "concurrencpp", "toomanycooks")  # results of tasks
COROUTINES = RUBATO + ("asio", "concurrencpp", "toomanycooks", "libcoro", "cppcoro")


@dataclass
class Scenario:
    name: str
    kind: str
    size: int
    title: str
    contenders: tuple
    workers: tuple = ("P",)  # for every contender; serial always has one
    own_workers: tuple = ("P", "2P")  # for Rubato, which must not suffer from too many
    reference: str = "serial"
    rounds: int = 0  # 0: as many as asked for
    smaller: dict = field(default_factory=dict)  # contender -> a size it can do in a second or so
    forks: object = None  # size -> forks; what was measured at a smaller size is scaled up by it
    left_out: dict = field(default_factory=dict)  # contender -> why
    memory: int = 0  # bytes
    suite: str = ""  # its programs are bench-<program>-<suite>
    at_most: dict = field(default_factory=dict)  # contender -> the most workers it can do it with
    unit: str = "ns"  # or "bytes"


@dataclass(frozen=True)
class Entry:
    """One row: a contender with so many workers."""
    contender: Contender
    workers: int
    kind: str
    size: int
    scale: float


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def fib_forks(n):
    return fibonacci(n + 1) - 1


def count(n):
    """1000000 -> 1M"""
    for unit, suffix in ((10**6, "M"), (10**3, "k")):
        if n >= unit:
            return f"{n / unit:.1f}".removesuffix(".0") + suffix
    return str(n)


def trees(quick):
    for layers in (10, 20) if quick else (10, 24, 27):
        nodes = 2**layers - 1
        label = count(nodes) if layers > 10 else str(nodes)
        huge = layers > 24
        slow = {"openmp": "more than half a minute per run", "onetbb": "ten seconds per run"}
        for kind, suffix, what in (("tree", "", "nothing else"), ("tree10", "-10ns", "10 ns of work")):
            forms = CONTEXT if kind == "tree" and not huge else ()
            yield Scenario(
                f"tree-{label}{suffix}", kind, layers,
                f"Sum of a tree of {nodes:,} nodes, a fork and {what} at each; per node", FORKING + forms,
                rounds=3 if huge else 0, memory=24 * nodes,
                left_out=slow if huge else {"openmp": "too slow for a quick run"} if quick else {})


def loops(quick):
    for exponent in (2, 4, 6) if quick else (2, 3, 4, 5, 6, 7):
        n = 10**exponent
        for kind, suffix, what in (("iterate", "", "an increment"), ("iterate10", "-10ns", "10 ns of work and an increment")):
            yield Scenario(f"iterate-{count(n)}{suffix}", kind, n, f"A loop over {n:,} items, {what} each; per loop",
                           ("serial",) + RUBATO + FORKING_PEERS)


def scenarios(quick):
    fib = 32 if quick else 39
    yield Scenario(f"fib{fib}", "fib", fib, f"fib({fib}), a fork at every call and nothing else", FORKING + CONTEXT,
                   workers=(1, "P", "2P"), own_workers=(1, "P", "2P"), forks=fib_forks,
                   smaller={"onetbb": min(fib, 35), "openmp": min(fib, 27 if quick else 30)})
    levels = 6 if quick else 8
    yield Scenario("skynet", "skynet", levels, f"Skynet: ten children per node, 10^{levels} leaves", FORKING + LOOP,
                   smaller={"openmp": min(levels, 6)}, forks=lambda n: 10**n)
    queens = 11 if quick else 14
    yield Scenario(f"nqueens{queens}", "nqueens", queens, f"{queens} queens, a fork for every queen set",
                   ("serial",) + RUBATO + LOOP + FORKING_PEERS)
    yield from trees(quick)
    yield from loops(quick)
    for n in (8, 512) if quick else (8, 64, 512, 8196):
        yield Scenario(f"scope-{n}", "flat", n, f"A scope with {n:,} spawns of 200 hash rounds; per scope",
                       tuple(c for c in ("serial",) + RUBATO + FORKING_PEERS if c != "chili"),
                       left_out={"chili": "has no scopes"})
    yield Scenario("scopetree-1023", "scopetree", 10,  # with 20 layers Forte overflows its stack
                   "Sum of a tree of 1,023 nodes, a scope with one spawn at each; per node", ("serial",) + RUBATO + ("rayon", "forte"))
    tasks = 400 if quick else 4000
    yield Scenario("tasks-250us", "tasks", tasks, f"A scope with {tasks:,} spawns of 250 us each; for all",
                   ("serial",) + RUBATO + ("onetbb", "openmp"))
    joins = 10**6 if quick else 10**8
    yield Scenario("flatjoin", "flatjoin", joins, "Joins of two trivial closures in a flat loop; per join", FORKING,
                   smaller={"onetbb": 10**6, "openmp": 10**6, "rayon": min(joins, 10**7), "forte": min(joins, 10**7)})
    tasks = 10**5 if quick else 10**6
    yield Scenario("enqueue", "enqueue", tasks, f"{tasks:,} empty tasks from one outside thread until all have run; per task",
                   QUEUEING, workers=(1, 2, 4, 8), own_workers=(1, 2, 4, 8), reference="mutex-queue")
    yield Scenario("wake", "wake", 40 if quick else 150, "From enqueue to the start of the task, all workers asleep; median",
                   QUEUEING, own_workers=("P",), reference="futex")
    yield from futures(quick)
    yield from coroutines(quick)
    yield Scenario("hidden", "hidden", 3 if quick else 5, "Forty jobs of 1 ms, latent behind a leaf of 60 ms",
                   ("serial",) + RUBATO + FORKING_PEERS, workers=(2,), own_workers=(2,))
    for kind, what in (("frame", "a loop over forty items"), ("framescope", "a scope with forty spawns")):
        yield Scenario(kind, kind, 60 if quick else 300, f"After 16 ms of sleep {what} of 100 us each; a frame without the sleep, median",
                       ("serial",) + RUBATO + ("onetbb",), workers=(2,), own_workers=(2,))
    files = 1000 if quick else 4000
    yield Scenario("pipeline", "pipeline", files, f"examples/pipeline: {files:,} files read, inflated, summed up and sorted",
                   SERIAL + RUBATO + ("asio-onetbb",), suite="pipeline", reference="asio-onetbb", workers=(1, "P", "2P"),
                   own_workers=(1, "P", "2P"))
    from plan_algorithms import algorithms  # they import this module
    from plan_programs import programs

    yield from algorithms(quick)
    yield from programs(quick)
    seconds = 1 if quick else 10
    yield Scenario("idle", "idle", seconds * 1000, f"CPU time of a pool with nothing to do, in {seconds} s",
                   RUBATO + FORKING_PEERS + ("mutex-queue", "asio"), own_workers=("P",), reference="", rounds=1)


def futures(quick):
    """What has results. With one worker more than there are cores MiniRTS, which spins, takes minutes."""
    tasks, cpus = 10**5 if quick else 10**6, usable_cpus()
    many = {"suite": "futures", "workers": (1, 2, 3, 4), "own_workers": (1, 2, 3, 4)}
    spinning = {"minirts": max(1, cpus - 1)}
    yield Scenario("enqueue-1-4", "enqueue", tasks, f"{tasks:,} empty tasks from one outside thread until all have run; per task",
                   FUTURES, reference="", **many)
    yield Scenario("spawn", "spawn", tasks, f"{tasks:,} empty tasks, then all their results; per task",
                   FUTURES + ("std-async",), smaller={"std-async": 10**4}, at_most={"std-async": 1}, reference="", **many)
    for kind, when in (("thenfirst", "before the chain is made"), ("thenlast", "when the chain is complete")):
        yield Scenario(kind, kind, tasks, f"{tasks:,} continuations of each other, the value comes {when}; per link",
                       RUBATO + ("minirts",), reference="", **many)
    fib = 20 if quick else 25
    yield Scenario(f"futurefib{fib}", "futurefib", fib,
                   f"fib({fib}), a spawn at every leaf, when_all and then at every node; per call",
                   RUBATO + ("minirts",), reference="", **many)
    trips = 10**4 if quick else 10**5
    for kind, what in (("latency", "watched by the caller"), ("spawnget", "asked for by get()")):
        yield Scenario(kind, kind, trips, f"One task there and back, its end {what}; median",
                       FUTURES + (("std-async",) if kind == "spawnget" else ()), at_most={"std-async": 1, **spinning},
                       smaller={"std-async": 10**4}, reference="", **many)
    bodies = 5 * 10**4 if quick else 2 * 10**5
    for kind in ("enqueue1us", "spawn1us"):
        yield Scenario(kind, kind, bodies, f"{bodies:,} tasks of 1 us each; what they cost beyond that, per task",
                       FUTURES, reference="", **many)
    yield Scenario("promisememory", "promisememory", tasks, "Memory of a future that waits for its promise; each",
                   RUBATO + ("onetbb", "minirts", "concurrencpp"), workers=(1,), own_workers=(1,), reference="", rounds=1,
                   suite="futures", unit="bytes")


def coroutines(quick):
    one = {"suite": "coroutines", "workers": (1,), "own_workers": (1,), "reference": ""}
    some = {"suite": "coroutines", "workers": (1, 2, 4), "own_workers": (1, 2, 4), "reference": ""}
    many = 10**5 if quick else 10**6
    yield Scenario("call", "call", 10 * many, "A coroutine calls another, which returns at once; per call", COROUTINES, **one)
    fib, levels = (18, 4) if quick else (25, 6)
    forks = {"forks": fib_forks, "smaller": {"asio": min(fib, 20)}}
    yield Scenario(f"cofib{fib}", "cofib", fib, f"fib({fib}) of coroutines, two that may run at once at every call",
                   COROUTINES, **forks, **some)
    yield Scenario("coskynet", "coskynet", levels, f"Skynet of coroutines: ten children per node, 10^{levels} leaves",
                   COROUTINES, forks=lambda n: 10**n, smaller={"asio": min(levels, 4)}, **some)
    yield Scenario("enqueuetask", "enqueuetask", many, "Coroutines that are never suspended, enqueued from outside the pool; each",
                   RUBATO, **some)
    yield Scenario("mutex", "mutex", many, "Eight coroutines lock and unlock the same mutex; per lock",
                   RUBATO + ("concurrencpp", "toomanycooks", "libcoro", "cppcoro"), **some)
    yield Scenario("semaphore", "semaphore", many, "Eight coroutines acquire and release one of two permits; per permit",
                   RUBATO + ("toomanycooks", "libcoro"), **some)
    for ends in (1, 4):
        for capacity in (1, 64):
            yield Scenario(f"channel-{ends}-{capacity}", f"channel{ends}x{capacity}", many,
                           f"{ends} to {ends} coroutines through a channel of capacity {capacity}; per value",
                           RUBATO + ("asio", "toomanycooks", "libcoro"), **some)
    for kind, what, contenders in (("framememory", "Memory of a coroutine that has not begun", COROUTINES),
                            ("suspendedmemory", "Memory of a coroutine that waits for a semaphore, all told",
                             RUBATO + ("toomanycooks", "libcoro"))):
        # So many that the rest of a huge page, which is resident too, is less than a byte of each.
        yield Scenario(kind, kind, 4 * many, f"{what}; each", contenders, rounds=1, unit="bytes", memory=400 * 4 * many, **one)


def selected(only, scenario, contender, suite=""):
    """ONLY: 'regex' for a scenario, its suite or a contender, 'regex/regex' for one of the first two and the third."""
    if not only:
        return True
    names = (scenario, suite)
    if "/" in only:
        left, right = only.split("/", 1)
        return any(re.search(left, name) for name in names) and bool(re.search(right, contender))
    return any(re.search(only, name) for name in (*names, contender))


def entries(scenario, only, workers):
    """The rows of a scenario: those to measure, and those left out, with the reason."""
    todo, left_out = [], dict(scenario.left_out)
    cpus = usable_cpus()
    amount = {"P": cpus, "2P": 2 * cpus}
    for name in scenario.contenders:
        contender = CONTENDERS[name]
        if scenario.suite:
            contender = replace(contender, program=f"{contender.program}-{scenario.suite}")
        if name in left_out:
            continue
        spec = scenario.own_workers if name.startswith("rubato") else scenario.workers
        if name in SERIAL:
            spec = (1,)
        elif workers:
            spec = workers
        size = scenario.smaller.get(name, scenario.size)
        scale = scenario.forks(scenario.size) / scenario.forks(size) if scenario.forks else 1.0
        kind = contender.forms.get(scenario.kind, scenario.kind)
        for w in sorted({min(amount.get(w, w), scenario.at_most.get(name, 1024)) for w in spec}):
            todo.append(Entry(contender, w, kind, size, scale))
    todo = [e for e in todo if selected(only, scenario.name, e.contender.name, scenario.suite)]
    left_out = {c: why for c, why in left_out.items() if selected(only, scenario.name, c, scenario.suite)}
    return todo, left_out
