"""Runs CPython's own tests of ThreadPoolExecutor on rubato.Pool, each in a process of its own with a time limit.

    python cpython_tests.py [PART_OF_A_NAME]

Needs the package `test` of the interpreter (Debian: libpython3.11-testsuite). Fails if a test fails that MISSES does not name,
and if one passes that it does.
"""

import concurrent.futures
import importlib
import os
import subprocess
import sys
import unittest

import rubato

SECONDS = 60
# For those that are known to fail: one leaves calls blocked, for which its tearDown waits.
SECONDS_OF_MISSES = 10

# What reads private members of ThreadPoolExecutor that say something else here.
MISSES = {
    "ThreadPoolExecutorTest.test_idle_thread_reuse": "counts one thread after the first call: all threads start with a Pool",
    "ThreadPoolShutdownTest.test_threads_terminate": "counts three threads after three calls: all threads start with a Pool",
    "ThreadPoolShutdownTest.test_thread_names_default": "expects ThreadPoolExecutor- in the default name",
}

AS_POOL = """\
import concurrent.futures, rubato
concurrent.futures.ThreadPoolExecutor = concurrent.futures.Pool = rubato.Pool
"""

# One file up to Python 3.11, a folder since then.
MODULES = ["", ".test_as_completed", ".test_init", ".test_shutdown", ".test_thread_pool", ".test_wait"]


def modules():
    for name in MODULES:
        try:
            yield importlib.import_module("test.test_concurrent_futures" + name)
        except ModuleNotFoundError as error:
            if not error.name.startswith("test.test_concurrent_futures."):
                raise


def with_pool(assert_python):
    """The scripts that tests run in a new interpreter get our class by the names that they import."""
    return lambda option, code: assert_python(option, AS_POOL + code)


def collect():
    """All tests that CPython has for its pool of threads, as {name: TestCase}, with our class in its place."""
    exec(AS_POOL)
    found = {}
    for module in modules():
        if hasattr(module, "assert_python_ok"):
            module.assert_python_ok = with_pool(module.assert_python_ok)
        for value in list(vars(module).values()):
            if not (isinstance(value, type) and issubclass(value, unittest.TestCase)):
                continue
            if getattr(value, "executor_type", None) in (ORIGINAL, rubato.Pool):
                value.executor_type = rubato.Pool
                for test in unittest.defaultTestLoader.getTestCaseNames(value):
                    found[f"{value.__name__}.{test}"] = value(test)
    return found


ORIGINAL = concurrent.futures.ThreadPoolExecutor


def run_alone(name):
    """The verdict of one test in a new process, and what it prints."""
    seconds = SECONDS_OF_MISSES if name in MISSES else SECONDS
    command = [sys.executable, __file__, "--one", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        return name, "late", f"not ended after {seconds} s: {error.stdout} {error.stderr}"
    verdict = "passed" if done.returncode == 0 else "skipped" if done.returncode == 77 else "failed"
    return name, verdict, done.stdout + done.stderr


def run_one(name):
    result = unittest.TextTestRunner(verbosity=2).run(collect()[name])
    return 77 if result.skipped else 0 if result.wasSuccessful() else 1


def main(part):
    names = [name for name in collect() if part in name]
    # Most of them sleep.
    with ORIGINAL(4 * (os.cpu_count() or 1)) as processes:
        outcomes = list(processes.map(run_alone, names))
    wrong = 0
    for name, verdict, output in outcomes:
        if verdict == "passed" and name not in MISSES:
            continue
        if verdict == "skipped":
            print(f"{name}: skipped: {output.strip()}")
        elif verdict in ("failed", "late") and name in MISSES:
            print(f"{name}: left out: {MISSES[name]}")
        else:
            wrong += 1
            print(f"{name}: {verdict}\n{output}")
    passed = sum(verdict == "passed" for _, verdict, _ in outcomes)
    print(f"CPython {sys.version.split()[0]}: {passed} of {len(outcomes)} tests of ThreadPoolExecutor pass, {wrong} are wrong")
    return 1 if wrong or not outcomes else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        sys.exit(run_one(sys.argv[2]))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
