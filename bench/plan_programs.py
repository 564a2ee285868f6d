"""The scenarios of the suite "programs": those programs of examples/ whose work does not depend on a scheduler."""

from plan import RUBATO, SERIAL, Scenario, count

CONTENDERS = SERIAL + ("rust",) + RUBATO + ("onetbb", "rayon")
SUITE = {"suite": "programs", "workers": (1, "P"), "own_workers": (1, "P"), "at_most": {"rust": 1}}


def programs(quick):
    numbers = 10**6 if quick else 25 * 10**6
    for kind in ("mergesort", "quicksort"):
        yield Scenario(kind, kind, numbers, f"examples/algorithms: {kind} of {numbers:,} random numbers", CONTENDERS, **SUITE)
    limit = 10**7 if quick else 10**8
    yield Scenario("sieve", "sieve", limit, f"examples/algorithms: the primes up to {limit:,}", CONTENDERS, **SUITE)
    rows = 512 if quick else 1024
    yield Scenario("matmul", "matmul", rows, f"examples/algorithms: the product of matrices of {rows:,} x {rows:,} floats",
                   CONTENDERS, **SUITE)
    for n in (10**4,) if quick else (10**4, 10**5, 10**6):
        yield Scenario(f"bvh-{count(n)}", "bvh", n, f"examples/bvh: boxes, keys, a sort and a tree for {n:,} triangles",
                       CONTENDERS, **SUITE)
    frames = 60 if quick else 300
    for kind, how in (("life", "a loop over the rows"), ("lifebridged", "rows from a sequence")):
        yield Scenario(kind, kind, frames, f"examples/life: 200 x 200 cells at 60 frames per second, {how}; a frame, median",
                       CONTENDERS, **SUITE)
