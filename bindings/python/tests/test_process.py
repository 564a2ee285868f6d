"""What becomes of pools when a process forks, ends, or has a second interpreter."""

import sys
import unittest

from limited import LimitedTestCase


class Exit(LimitedTestCase):
    def test_calls_end_before_the_interpreter_does(self):
        text = """
import rubato, sys, threading, time
entered = threading.Event()
def say(): sys.stdout.write('ran\\n')
def late():
    entered.set()
    time.sleep(0.2)
    say()
pool, dropped = rubato.Pool(2), rubato.Pool(2)
for p in (pool, dropped, rubato.global_pool()):
    p.submit(late)
    for _ in range(5): p.submit(say)
closed = rubato.Pool(1)
closed.submit(late)
closed.shutdown(wait=False)
del dropped
entered.wait()
"""
        self.assertEqual(self.run_script(text), 19 * ["ran"])

    def test_no_call_is_taken_while_it_ends(self):
        text = """
import rubato, time
pool = rubato.Pool(2)
def later():
    for p in (pool, rubato.global_pool()):
        while True:
            try: p.submit(int)
            except RuntimeError as error: break
            time.sleep(0.001)
        print('refused')
    try: rubato.Pool(1)
    except RuntimeError: print('refused')
pool.submit(later)
"""
        self.assertEqual(self.run_script(text), 3 * ["refused"])

    def test_a_pool_that_a_module_holds_is_destroyed_last(self):
        text = """
import rubato, sys, threading
local = threading.local()
class Noisy:
    def __del__(self): print('gone')
sys.pool = rubato.Pool(3)
sys.pool.submit(setattr, local, 'noisy', Noisy()).result()
rubato.global_pool().submit(int).result()
print('end')
"""
        self.assertEqual(self.run_script(text), ["end", "gone"])

    def test_regression_an_interrupt_at_the_end_cancels_what_is_queued(self):
        text = """
import os, rubato, signal, sys, threading
pool = POOL
entered, go = threading.Semaphore(0), threading.Event()
def call():
    entered.release()
    go.wait()
    sys.stdout.write('ran\\n')
for _ in range(pool._max_workers): pool.submit(call)
for _ in range(pool._max_workers): entered.acquire()
queued = [pool.submit(sys.stdout.write, 'never') for _ in range(10)]
queued[-1].add_done_callback(lambda _: go.set())
def interrupt(*_):
    try: pool.submit(int).cancel()
    except RuntimeError:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt from None
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)  # again and again: one that comes just before a wait does not end it
sys.unraisablehook = lambda raised: sys.stdout.write(raised.exc_type.__name__ + '\\n')
"""
        for pool in ("rubato.Pool(3)", "rubato.global_pool()"):
            said = self.run_script(text.replace("POOL", pool))
            self.assertEqual({*said}, {"KeyboardInterrupt", "ran"})
            self.assertEqual(said[-1], "KeyboardInterrupt")

    def test_regression_daemon_threads_make_pools_until_the_end(self):
        text = """
import rubato, threading
made = threading.Semaphore(0)
def go():
    while True:
        try:
            with rubato.Pool(2) as pool: pool.submit(made.release)
        except RuntimeError: return
for _ in range(4): threading.Thread(target=go, daemon=True).start()
for _ in range(20): made.acquire()
"""
        for _ in range(5):
            self.assertEqual(self.run_script(text), [])

    def test_os_exit_waits_for_no_pool(self):
        text = """
import rubato, os, threading
entered = threading.Event()
with rubato.Pool(2) as pool:
    pool.submit(lambda: (entered.set(), threading.Event().wait()))
    entered.wait()
    os._exit(0)
"""
        self.assertEqual(self.run_script(text), [])


class Fork(LimitedTestCase):
    def test_the_child_has_empty_pools_that_work(self):
        text = """
import os, rubato, sys, threading
go = threading.Event()
pool = rubato.Pool(2, initializer=int)
blocked = [pool.submit(go.wait) for _ in range(10)]
shared = rubato.global_pool()
shared.submit(int).result()
closed = rubato.Pool(1)
closed.shutdown()
child = os.fork()
if child == 0:
    assert [p.submit(pow, 2, 5).result() for p in (pool, shared)] == [32, 32]
    assert list(pool.map(abs, range(-5, 5))) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]
    assert not any(b.done() for b in blocked)
    try: closed.submit(int)
    except RuntimeError: pass
    else: raise AssertionError('closed')
    with rubato.Pool(3) as other: assert other.submit(int).result() == 0
    pool.shutdown()
    print('child', flush=True)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
go.set()
assert all(b.result() for b in blocked)
print('parent')
"""
        self.assertEqual(self.run_script(text), ["child", "parent"])

    def test_regression_a_queued_call_holds_a_pool_last(self):
        text = """
import os, rubato, sys, threading
go = threading.Event()
class Last:
    def __init__(self, pool): self.pool = pool
    def __call__(self): pass
for _ in range(10):
    pool, other = rubato.Pool(1), rubato.Pool(1)
    pool.submit(go.wait)
    for p in (pool, pool, other): pool.submit(Last(p))
    del p, pool, other
child = os.fork()
if child == 0:
    print(rubato.Pool(1).submit(int).result(), flush=True)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
go.set()
"""
        self.assertEqual(self.run_script(text), ["0", "0"])

    def test_regression_forks_while_other_threads_make_pools(self):
        text = """
import os, rubato, sys, threading
ends = False
def make():
    while not ends: rubato.Pool(1).submit(int)
threads = [threading.Thread(target=make) for _ in range(2)]
for t in threads: t.start()
for _ in range(20):
    child = os.fork()
    if child == 0: sys.exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
ends = True
for t in threads: t.join()
"""
        self.assertEqual(self.run_script(text), 20 * ["0"])

    def test_a_call_forks(self):
        text = """
import os, rubato
def fork():
    child = os.fork()
    if child == 0: os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
with rubato.Pool(2) as pool:
    print(*pool.map(lambda _: fork(), range(10)))
"""
        self.assertEqual(self.run_script(text), 10 * ["3"])

    def test_processes_of_multiprocessing_beside_a_pool(self):
        text = """
import multiprocessing, rubato
context = multiprocessing.get_context('fork')
with rubato.Pool(2) as pool:
    def chain(n):
        if n: pool.submit(chain, n - 1)
    pool.submit(chain, 5000)
    for _ in range(10):
        process = context.Process(target=int)
        process.start()
        process.join()
        assert process.exitcode == 0
print('done')
"""
        self.assertEqual(self.run_script(text), ["done"])


class Interpreters(LimitedTestCase):
    @unittest.skipUnless(sys.version_info[:2] == (3, 12), "before, CPython cannot refuse; since then, the module has another name")
    def test_a_second_interpreter_cannot_import_the_module(self):
        text = """
import _xxsubinterpreters as interpreters, rubato
other = interpreters.create()
try: interpreters.run_string(other, 'import rubato')
except interpreters.RunFailedError as error: print('refused')
interpreters.destroy(other)
assert rubato.Pool(1).submit(int).result() == 0
"""
        self.assertEqual(self.run_script(text), ["refused"])


if __name__ == "__main__":
    unittest.main()
