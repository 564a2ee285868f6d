"""Measures rubato.Pool beside ThreadPoolExecutor, in turns: python executors.py [ROUNDS]. The figures are in docs/python.md."""

import os
import resource
import statistics
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat

import rubato

WORKERS = 2
half_random = [os.urandom(500_000) + bytes(500_000) for _ in range(16)]


def nothing():
    pass


def one_after_the_other(pool, calls=3000):
    for _ in range(calls):
        pool.submit(nothing).result()
    return calls


def all_at_once(pool, calls=20_000):
    for future in [pool.submit(nothing) for _ in range(calls)]:
        future.result()
    return calls


def mapped(pool, calls=20_000):
    for _ in pool.map(abs, range(calls)):
        pass
    return calls


def brief_sums(pool, calls=2000):
    for _ in pool.map(zlib.adler32, repeat(half_random[0][:100_000], calls)):
        pass
    return calls


def compress(pool):
    for _ in pool.map(zlib.compress, half_random):
        pass
    return len(half_random)


def computes(_):
    return sum(range(20_000))


def pure_python(pool, calls=200):
    for _ in pool.map(computes, range(calls)):
        pass
    return calls


class Serial:
    """What the same calls cost without any pool."""

    def submit(self, f, *arguments):
        self.value = f(*arguments)
        return self

    def result(self):
        return self.value

    def map(self, f, *ranges):
        return map(f, *ranges)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(row, pool):
    """Microseconds per call, by the clock and of all CPUs."""
    began, used = time.perf_counter(), cpu_seconds()
    calls = row(pool)
    return (time.perf_counter() - began) / calls * 1e6, (cpu_seconds() - used) / calls * 1e6


def main(rounds):
    pools = {
        "ThreadPoolExecutor": ThreadPoolExecutor(WORKERS),
        "Pool": rubato.Pool(WORKERS),
        "global_pool": rubato.global_pool(),
        "serial": Serial(),
    }
    for row in (one_after_the_other, all_at_once, mapped, brief_sums, compress, pure_python):
        figures = {name: [] for name in pools}
        for pool in pools.values():
            row(pool)
        for _ in range(rounds):
            for name, pool in pools.items():
                figures[name].append(measure(row, pool))
        print(f"{row.__name__}, us per call: median (least-most), of CPU; ratio to ThreadPoolExecutor in the same round (least-most)")
        for name, pairs in figures.items():
            clock = [p[0] for p in pairs]
            ratios = [p[0] / base[0] for p, base in zip(pairs, figures["ThreadPoolExecutor"])]
            cpu = statistics.median(p[1] for p in pairs)
            print(
                f"  {name:18} {statistics.median(clock):9.2f} ({min(clock):.2f}-{max(clock):.2f}), {cpu:.2f};"
                f" {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
