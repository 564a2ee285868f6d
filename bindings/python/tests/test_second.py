"""An extension of C++ that links the package's library has the same pools. Needs the folder of tests/second's build in PYTHONPATH."""

import threading
import unittest

import rubato
import second
from limited import LimitedTestCase


class OnePool(LimitedTestCase):
    def test_the_global_pool_is_one(self):
        self.assertTrue(second.is_global(rubato.global_pool().capsule()))
        with rubato.Pool(1) as pool:
            self.assertFalse(second.is_global(pool.capsule()))

    def test_a_task_of_cpp_runs_in_a_pool_of_python(self):
        with rubato.Pool(2) as pool:
            self.assertTrue(second.runs_tasks(pool.capsule()))
        self.assertTrue(second.runs_tasks(rubato.global_pool().capsule()))

    def test_loops_of_cpp_beside_calls_of_python(self):
        with rubato.Pool(2) as pool:
            capsule = pool.capsule()
            calls = [pool.submit(sum, range(1000)) for _ in range(200)]
            self.assertEqual(second.sum(capsule, 1_000_000), sum(range(1_000_000)))
            inner = [pool.submit(second.sum, capsule, 1000) for _ in range(200)]
            self.assertEqual({c.result() for c in calls + inner}, {sum(range(1000))})

    def test_a_task_of_cpp_that_calls_python_is_in_a_named_thread(self):
        seen, done = [], threading.Event()
        with rubato.Pool(2, "mixed") as pool:
            second.enqueue(pool.capsule(), lambda: (seen.append(threading.current_thread().name), done.set()))
            done.wait()
        self.assertRegex(seen[0], "^mixed_[01]$")

    def test_queued_tasks_of_cpp_get_their_turn_beside_many_calls(self):
        order, entered, go = [], threading.Event(), threading.Event()

        def call(n):
            threading.Event().wait(0.001)  # far more than a runner's turn
            order.append(n)

        with rubato.Pool(1) as pool:
            pool.submit(lambda: (entered.set(), go.wait()))
            entered.wait()
            for n in range(100):
                pool.submit(call, n)
            second.enqueue(pool.capsule(), lambda: order.append("task"))
            go.set()
        self.assertLess(order.index("task"), 50)

    def test_calls_that_a_discard_drops_are_cancelled(self):
        entered, go = threading.Event(), threading.Event()
        pool = rubato.Pool(1)
        blocker = threading.Event()
        second.enqueue(pool.capsule(), lambda: (entered.set(), blocker.wait()))
        entered.wait()
        calls = [pool.submit(go.wait) for _ in range(10)]
        second.discard(pool.capsule())
        blocker.set()
        for call in calls:
            with self.assertRaises(BaseException) as raised:
                call.result()
            self.assertEqual(type(raised.exception).__name__, "CancelledError")
        pool.shutdown()

    def test_a_pool_that_cpp_has_shut_down_refuses_calls(self):
        pool = rubato.Pool(2)
        self.assertEqual(pool.submit(int).result(), 0)
        second.shut_down(pool.capsule())
        self.assertRaisesRegex(RuntimeError, "C\\+\\+", pool.submit, int)
        pool.shutdown()

    def test_submit_waits_for_room_in_a_full_pool_without_the_lock(self):
        text = """
import os, rubato, second, threading, time
second.limit_global(1)
pool = rubato.global_pool()
go, inside = threading.Event(), threading.Semaphore(0)
for _ in range(2):
    second.enqueue(pool.capsule(), lambda: (inside.release(), go.wait()))
    inside.acquire()
first = threading.Semaphore(0)
threading.Thread(target=lambda: (first.acquire(), time.sleep(0.05), go.set())).start()
calls = []
for n in range(5):
    calls.append(pool.submit(abs, -n))  # the second runner finds no room until go is set
    first.release()
print(*(c.result() for c in calls), flush=True)
os._exit(0)  # a task of C++ that has called Python may not have returned yet
"""
        self.assertEqual(self.run_script(text), ["0", "1", "2", "3", "4"])

    def test_a_capsule_keeps_the_pool(self):
        capsule = rubato.Pool(2).capsule()
        self.assertTrue(second.runs_tasks(capsule))


if __name__ == "__main__":
    unittest.main()
