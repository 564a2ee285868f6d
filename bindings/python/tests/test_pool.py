"""rubato.Pool within one process."""

import asyncio
import concurrent.futures
import contextvars
import doctest
import gc
import hashlib
import logging
import os
import sys
import threading
import traceback
import unittest
import weakref
import zlib
from concurrent.futures.thread import BrokenThreadPool

import rubato
import rubato._pool
from limited import LimitedTestCase


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(rubato))
    tests.addTests(doctest.DocTestSuite(rubato._pool))
    tests.addTests(doctest.DocFileSuite("../../../docs/python.md"))
    return tests


def fail(text):
    raise LookupError(text)


class unraisable_logged:
    """Turns what sys.unraisablehook would print into entries of a log."""

    def __enter__(self):
        self.before = sys.unraisablehook
        sys.unraisablehook = lambda raised: logging.getLogger("unraisable").error("%r", raised.exc_value)

    def __exit__(self, *_):
        sys.unraisablehook = self.before


class Calls(LimitedTestCase):
    def test_as_many_calls_as_max_workers_are_inside_at_once(self):
        for workers in (1, 2, 7):
            together = threading.Barrier(workers)
            with rubato.Pool(workers) as pool:
                calls = [pool.submit(together.wait) for _ in range(3 * workers)]
            self.assertEqual(sorted(c.result() for c in calls), sorted(3 * list(range(workers))))

    def test_never_more_calls_are_inside_than_max_workers(self):
        inside, most, lock = 0, 0, threading.Lock()

        def call(_):
            nonlocal inside, most
            with lock:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.02)  # longer than Rubato lets a blocked thread keep queued tasks waiting
            with lock:
                inside -= 1

        with rubato.Pool(3) as pool:
            list(pool.map(call, range(30)))
        self.assertLessEqual(most, 3)

    def test_calls_begin_in_the_order_of_submit(self):
        began = []
        with rubato.Pool(1) as pool:
            for i in range(1000):
                pool.submit(began.append, i)
        self.assertEqual(began, list(range(1000)))

    def test_work_without_the_interpreters_lock(self):
        pieces = [bytes([i]) * 1_000_000 for i in range(20)]
        with rubato.Pool(2) as pool:
            sums = list(pool.map(lambda p: hashlib.sha256(p).digest(), pieces))
            packed = list(pool.map(zlib.compress, pieces))
        self.assertEqual(sums, [hashlib.sha256(p).digest() for p in pieces])
        self.assertEqual([zlib.decompress(p) for p in packed], pieces)

    def test_many_threads_submit(self):
        total = 0
        lock = threading.Lock()

        def add(n):
            nonlocal total
            with lock:
                total += n

        def submit_many(pool):
            for n in range(500):
                pool.submit(add, n)

        with rubato.Pool(3) as pool:
            threads = [threading.Thread(target=submit_many, args=(pool,)) for _ in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(total, 8 * sum(range(500)))

    def test_calls_submit_calls(self):
        with rubato.Pool(2) as pool:

            def tree(depth):
                return [pool.submit(tree, depth - 1) for _ in range(2 if depth else 0)]

            level = [pool.submit(tree, 6)]
            sizes = []
            while level:
                sizes.append(len(level))
                level = [below for call in level for below in call.result()]
        self.assertEqual(sizes, [1, 2, 4, 8, 16, 32, 64])

    def test_an_exception_has_the_traceback_of_the_call(self):
        with rubato.Pool(1) as pool:
            error = pool.submit(fail, "no entry").exception()
        self.assertIsInstance(error, LookupError)
        self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].name, "fail")

    def test_what_is_no_exception_reaches_the_future_too(self):
        with rubato.Pool(1) as pool:
            for kind in (SystemExit, KeyboardInterrupt, GeneratorExit):

                def leave(kind=kind):
                    raise kind

                self.assertIsInstance(pool.submit(leave).exception(), kind)
            self.assertEqual(pool.submit(int, "7").result(), 7)

    def test_a_call_holds_its_arguments_only_until_it_has_run(self):
        class Thing:
            pass

        thing = Thing()
        gone = threading.Event()
        watch = weakref.ref(thing, lambda _: gone.set())
        with rubato.Pool(1) as pool:
            future = pool.submit(id, thing)
            del thing
            future.result()
            self.assertTrue(gone.wait(30))
        self.assertIsNone(watch())

    def test_a_future_that_another_thread_has_set_harms_no_worker(self):
        entered, go = threading.Event(), threading.Event()
        with rubato.Pool(1) as pool:
            future = pool.submit(lambda: (entered.set(), go.wait()))
            entered.wait()
            future.set_result("early")
            with self.assertLogs("unraisable", logging.ERROR) as seen, unraisable_logged():
                go.set()
                self.assertEqual(pool.submit(int).result(), 0)
        self.assertEqual(future.result(), "early")
        self.assertIn("InvalidStateError", seen.output[0])


class Ends(LimitedTestCase):
    def test_cancel_a_queued_call(self):
        go = threading.Event()
        ran = []
        with rubato.Pool(1) as pool:
            pool.submit(go.wait)
            queued = pool.submit(ran.append, 1)
            self.assertTrue(queued.cancel())
            go.set()
        self.assertTrue(queued.cancelled())
        self.assertEqual(ran, [])

    def test_shutdown_with_cancel_futures_ends_the_waits_for_them(self):
        entered, go = threading.Event(), threading.Event()
        pool = rubato.Pool(1)
        running = pool.submit(lambda: (entered.set(), go.wait()))
        entered.wait()
        queued = [pool.submit(int) for _ in range(10)]
        pool.shutdown(wait=False, cancel_futures=True)
        done, not_done = concurrent.futures.wait(queued)
        self.assertEqual((len(done), len(not_done)), (10, 0))
        self.assertTrue(all(q.cancelled() for q in queued))
        go.set()
        pool.shutdown()
        self.assertTrue(running.done())

    def test_shutdown_from_several_threads(self):
        pool = rubato.Pool(3)
        calls = [pool.submit(pow, 2, n) for n in range(100)]
        threads = [threading.Thread(target=pool.shutdown) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([c.result() for c in calls], [2**n for n in range(100)])
        self.assertFalse(any(t.is_alive() for t in pool._threads))

    def test_a_call_may_close_its_pool_but_not_wait_for_its_end(self):
        pool = rubato.Pool(2)
        self.assertIsInstance(pool.submit(pool.shutdown).exception(), RuntimeError)
        pool.shutdown()
        pool = rubato.Pool(2)
        self.assertIsNone(pool.submit(pool.shutdown, wait=False).exception())
        self.assertRaises(RuntimeError, pool.submit, int)
        pool.shutdown()

    def test_shutdown_twice(self):
        pool = rubato.Pool(2)
        pool.shutdown()
        pool.shutdown(cancel_futures=True)
        self.assertRaisesRegex(RuntimeError, "after shutdown", pool.submit, int)

    def test_a_pool_that_is_dropped_runs_its_calls_and_ends_its_threads(self):
        ran = []
        pool = rubato.Pool(2)
        threads = pool._threads
        for i in range(100):
            pool.submit(ran.append, i)
        del pool
        for t in threads:
            t.join()
        self.assertCountEqual(ran, range(100))

    def test_a_pool_that_its_own_call_drops_last(self):
        go = threading.Event()
        pool = rubato.Pool(2)
        threads = pool._threads

        class Last:
            def __init__(self, pool):
                self.pool = pool

            def __call__(self):
                go.wait()

        pool.submit(Last(pool))
        del pool
        go.set()
        for t in threads:
            t.join()

    def test_regression_a_pool_that_a_thread_keeps_ends_with_the_thread(self):
        local = threading.local()

        def keep():
            local.pool = rubato.Pool(1)
            return local.pool._threads

        for _ in range(20):
            pool = rubato.Pool(1)
            threads = pool._threads | pool.submit(keep).result()
            del pool  # its thread drops the other pool as it ends, and must not wait for itself then
            for t in threads:
                t.join()

    def test_dropped_pools_leave_no_thread(self):
        def in_a_cycle():
            pool = rubato.Pool(2)
            pool.itself = pool
            pool.submit(int)

        for _ in range(30):
            in_a_cycle()
        gc.collect()
        rubato.Pool(1).shutdown()
        threads = [t for t in threading.enumerate() if t.name.startswith("rubato-")]
        for t in threads:
            t.join()
        self.assertLess(len(os.listdir("/proc/self/task")), 20)

    def test_regression_a_closed_pool_that_its_initializer_refers_to_is_collected(self):
        class Service:
            def __init__(self):
                self.pool = rubato.Pool(2, initializer=self.start)

            def start(self):
                pass

        for wait in (True, False):
            service = Service()
            threads = service.pool._threads
            watch = weakref.ref(service)
            service.pool.shutdown(wait=wait)
            for t in threads:
                t.join()
            del service, threads, t
            while watch() is not None:  # the last thread has ended for `threading` a little before it forgets the initializer
                gc.collect()


class Threads(LimitedTestCase):
    def test_names(self):
        with rubato.Pool(2, thread_name_prefix="press") as pool:
            name = pool.submit(lambda: threading.current_thread().name).result()
            self.assertRegex(name, r"^press_[01]$")
            self.assertLessEqual({"press_0", "press_1"}, {t.name for t in threading.enumerate()})
        self.assertFalse({"press_0", "press_1"} & {t.name for t in threading.enumerate()})

    def test_what_a_thread_keeps_is_there_in_its_next_call(self):
        local = threading.local()
        variable = contextvars.ContextVar("variable", default=0)

        def step():
            local.n = getattr(local, "n", 0) + 1
            variable.set(variable.get() + 1)
            return local.n, variable.get()

        for pool in (rubato.Pool(1), rubato.Pool(3)):
            with pool:
                pairs = [pool.submit(step).result() for _ in range(50)]
                self.assertTrue(all(a == b for a, b in pairs))
                self.assertGreaterEqual(max(pairs)[0], 50 // pool._max_workers)
        self.assertEqual(variable.get(), 0)

    def test_thread_locals_are_destroyed_with_the_thread(self):
        class Kept:
            gone = []

            def __del__(self):
                self.gone.append(1)

        local = threading.local()
        together = threading.Barrier(3)

        def keep():
            local.kept = Kept()
            together.wait()

        with rubato.Pool(3) as pool:
            for _ in range(3):
                pool.submit(keep)
        self.assertEqual(len(Kept.gone), 3)

    def test_each_thread_calls_the_initializer_before_its_first_call(self):
        local = threading.local()
        together = threading.Barrier(3)

        def read():
            together.wait()
            return local.value

        with rubato.Pool(3, initializer=lambda v: setattr(local, "value", v), initargs=(5,)) as pool:
            calls = [pool.submit(read) for _ in range(6)]
        self.assertEqual([c.result() for c in calls], 6 * [5])

    def test_a_failing_initializer_breaks_the_pool(self):
        go = threading.Event()

        def initialize():
            go.wait()
            fail("no licence")

        with self.assertLogs("concurrent.futures", logging.CRITICAL):
            pool = rubato.Pool(2, initializer=initialize)
            calls = [pool.submit(int) for _ in range(10)]
            go.set()
            for call in calls:
                self.assertIsInstance(call.exception(), BrokenThreadPool)
            self.assertRaises(BrokenThreadPool, pool.submit, int)
            pool.shutdown()

    def test_regression_threads_have_the_trace_functions_of_threading(self):
        seen = []

        def note(frame, event, _):
            seen.append((event, frame.f_code.co_name))

        def traced():
            pass

        before = threading.gettrace(), threading.getprofile()
        threading.settrace(note)
        threading.setprofile(note)
        try:
            pool = rubato.Pool(1)
        finally:
            threading.settrace(before[0])
            threading.setprofile(before[1])
        with pool:
            pool.submit(traced).result()
        self.assertLessEqual({("call", "traced"), ("return", "traced")}, set(seen))

    def test_regression_what_cannot_be_called_fails_in_the_future(self):
        with rubato.Pool(1) as pool:
            self.assertIsInstance(pool.submit(None).exception(), TypeError)
            self.assertIsInstance(pool.submit(5).exception(), TypeError)

    def test_arguments_are_checked(self):
        self.assertRaises(ValueError, rubato.Pool, 0)
        self.assertRaises(ValueError, rubato.Pool, 1025)
        self.assertRaises(ValueError, rubato.Pool, 2**70)
        self.assertRaises(TypeError, rubato.Pool, 1, initializer=5)


class Global(LimitedTestCase):
    def test_it_is_one_object_and_runs_calls(self):
        pool = rubato.global_pool()
        self.assertIs(pool, rubato.global_pool())
        self.assertEqual(list(pool.map(abs, range(-3, 3))), [3, 2, 1, 0, 1, 2])

    def test_shutdown_waits_and_leaves_it_open(self):
        ran = []
        with rubato.global_pool() as pool:
            for i in range(100):
                pool.submit(ran.append, i)
        self.assertCountEqual(ran, range(100))
        self.assertEqual(pool.submit(int, "3").result(), 3)

    def test_more_calls_that_block_than_workers(self):
        entered = threading.Event()
        go = threading.Event()
        pool = rubato.global_pool()
        blocked = [pool.submit(lambda: (entered.set(), go.wait())) for _ in range(20 * pool._max_workers)]
        entered.wait()
        self.assertLess(len(os.listdir("/proc/self/task")), 20 * pool._max_workers)
        go.set()
        concurrent.futures.wait(blocked)
        self.assertTrue(all(b.done() for b in blocked))


class Asyncio(LimitedTestCase):
    def test_run_in_executor(self):
        async def main():
            loop = asyncio.get_running_loop()
            with rubato.Pool(2) as pool:
                return await asyncio.gather(*(loop.run_in_executor(pool, pow, 2, n) for n in range(100)))

        self.assertEqual(asyncio.run(main()), [2**n for n in range(100)])

    def test_wrap_future(self):
        async def main():
            with rubato.Pool(2) as pool:
                with self.assertRaises(LookupError):
                    await asyncio.wrap_future(pool.submit(fail, "no entry"))
                return await asyncio.wrap_future(pool.submit(int, "8"))

        self.assertEqual(asyncio.run(main()), 8)

    def test_as_the_default_executor(self):
        async def main(pool):
            asyncio.get_running_loop().set_default_executor(pool)
            return await asyncio.to_thread(lambda: threading.current_thread().name)

        self.assertRegex(asyncio.run(main(rubato.Pool(2, "loop"))), r"^loop_[01]$")
        asyncio.run(main(rubato.global_pool()))
        self.assertEqual(rubato.global_pool().submit(int).result(), 0)

    def test_a_cancelled_await_cancels_a_queued_call(self):
        async def main():
            go = threading.Event()
            ran = []
            with rubato.Pool(1) as pool:
                loop = asyncio.get_running_loop()
                pool.submit(go.wait)
                queued = loop.run_in_executor(pool, ran.append, 1)
                queued.cancel()
                await asyncio.sleep(0)
                go.set()
            return ran

        self.assertEqual(asyncio.run(main()), [])


if __name__ == "__main__":
    unittest.main()
