from __future__ import annotations

import itertools
import os
import pathlib
import queue
import signal
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor, _base
from typing import AbstractSet, Any, Callable, Iterable, ParamSpec, TypeVar

from rubato import _rubato

_T = TypeVar("_T")
_P = ParamSpec("_P")


class _Worker(threading._DummyThread):
    """A thread of a pool as `threading` shows it. C++ code has started it and ends it."""

    def __init__(self, name: str) -> None:
        self._has_ended = threading.Event()
        super().__init__()
        self.name = name

    def is_alive(self) -> bool:
        return not self._has_ended.is_set()

    def join(self, timeout: float | None = None) -> None:
        if self is threading.current_thread():
            raise RuntimeError("cannot join current thread")
        self._has_ended.wait(timeout)

    def end(self) -> None:
        """Called by the thread itself: threading forgets it, as it does when a thread of its own ends."""
        with threading._active_limbo_lock:  # type: ignore[attr-defined]
            threading._active.pop(self.ident, None)  # type: ignore[attr-defined]
        self._has_ended.set()


class _Workers:
    """The threads of one pool. Refers to no pool: one that is in use by nothing else ends."""

    def __init__(self, prefix: str, initializer: Callable[..., object] | None, initargs: Iterable[Any]) -> None:
        self.prefix = prefix
        self.initializer = initializer
        self.initargs = initargs
        self.by_number: dict[int, _Worker] = {}
        # One entry for each thread that has begun. An Event that another thread uses during a fork stays locked in the child.
        self.begun: queue.SimpleQueue[None] = queue.SimpleQueue()

    def start(self, number: int) -> bool:
        """Called by each thread before its first task. False: the pool is of no use."""
        try:
            self.by_number[number] = _Worker(f"{self.prefix}_{number}")
        finally:
            self.begun.put(None)
        # As a thread of `threading` does before its first call: debuggers and measurers of coverage rely on it.
        sys.settrace(threading.gettrace())
        sys.setprofile(threading.getprofile())
        if self.initializer is not None:
            try:
                self.initializer(*self.initargs)
            except BaseException:
                _base.LOGGER.critical("Exception in initializer:", exc_info=True)
                return False
        return True

    def end(self, number: int) -> None:
        """Called by each thread after its last task."""
        self.by_number[number].end()


# asyncio accepts only this class as a loop's default executor. Nothing of it is used but the type.
class Pool(ThreadPoolExecutor):
    """An executor on a thread pool of Rubato.

    >>> from rubato import Pool
    >>> with Pool(max_workers=2) as pool:
    ...     future = pool.submit(pow, 2, 10)
    ...     print(future.result())
    1024

    It does what `concurrent.futures.ThreadPoolExecutor` does, with the same arguments, and its futures are
    `concurrent.futures.Future`. What differs:

    - All threads start with the pool, and the initializer runs in each of them.
    - C++ code can run its work on the same threads: see `capsule`.
    - In the child after a fork the pool is empty, and starts new threads at its first use.
    - A future that `shutdown(cancel_futures=True)` cancels ends the waits for it.

    A call should release the interpreter's lock for most of its time. All members may be called by several threads at once.

    Args:
        max_workers: how many threads there are, at most 1,024, and how many calls run at once. None: that of
            `ThreadPoolExecutor`, which is four more than CPUs, and at most 32.
        thread_name_prefix: the threads are named prefix_0, prefix_1, ... Empty: a name of its own for each pool.
        initializer: each thread calls it before its first call. If it raises, the error is logged, and all calls fail with
            `BrokenThreadPool`.
        initargs: its arguments.

    Raises:
        ValueError: max_workers is less than 1 or more than 1,024.
        TypeError: the initializer cannot be called.
        RuntimeError: a thread cannot be made, or the interpreter ends.
    """

    _numbers = itertools.count()

    def __init__(
        self,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
    ) -> None:
        if max_workers is None:
            count_cpus = getattr(os, "process_cpu_count", os.cpu_count)  # since Python 3.13
            max_workers = min(32, (count_cpus() or 1) + 4)
        if max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if max_workers > 1024:
            raise ValueError("max_workers must be at most 1024")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        prefix = thread_name_prefix or f"rubato-{next(Pool._numbers)}"
        self._workers = _Workers(prefix, initializer, initargs)
        self._calls = _rubato.CallQueue(max_workers, prefix, self._workers.start, self._workers.end)
        for _ in range(max_workers):
            self._workers.begun.get()
        _pools.add(self)

    @property
    def _max_workers(self) -> int:  # type: ignore[override]
        return self._calls.limit

    @property
    def _broken(self) -> bool:  # type: ignore[override]
        return self._calls.is_broken

    @property
    def _threads(self) -> AbstractSet[threading.Thread]:  # type: ignore[override]
        return set(self._workers.by_number.values())

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Queues the call fn(*args, **kwargs), and returns the future of its result.

        >>> with Pool(1) as pool:
        ...     pool.submit(int, "12", base=3).result()
        5

        Raises RuntimeError after shutdown() and when the interpreter ends, and BrokenThreadPool after an initializer has failed.
        """
        future: Future[_T] = Future()
        self._calls.submit(future, fn, args, kwargs)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuses calls from now on. The threads end when the calls that are queued have run.

        >>> pool = Pool(1)
        >>> pool.shutdown()
        >>> pool.submit(print)
        Traceback (most recent call last):
        RuntimeError: cannot schedule new futures after shutdown

        Args:
            wait: returns when the calls have run and the threads have ended; a KeyboardInterrupt ends the wait.
            cancel_futures: cancels the calls that have not begun.

        Raises RuntimeError if one of the pool's own calls waits.
        """
        self._calls.close()
        if cancel_futures:
            self._calls.cancel_queued()
        if wait:
            self._wait_idle()
            self._calls.join()

    def _wait_idle(self) -> None:
        if self._calls.is_running_here:
            raise RuntimeError("a call of the pool cannot wait for the pool's end")
        idle = threading.Event()
        self._calls.when_idle(idle.set)
        idle.wait()

    def capsule(self) -> object:
        """A capsule named "rubato::pool 0.1" with the address of the `rubato::pool`, for C++ code in the same process.

        The capsule keeps this object alive. The C++ code has to be linked with the shared library of this package (`cmake_dir`),
        not with a copy of its own. Raises RuntimeError if this package itself was built with a copy.
        """
        return self._calls.capsule(self)


class _GlobalPool(Pool):
    """The executor of `global_pool`."""

    def __init__(self) -> None:
        self._workers = _Workers("", None, ())
        self._calls = _rubato.global_queue()
        _pools.add(self)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Waits until no call is queued or runs, also none that another thread submits meanwhile; the pool stays open."""
        if cancel_futures:
            self._calls.cancel_queued()
        if wait:
            self._wait_idle()


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_global: _GlobalPool | None = None
_global_lock = threading.Lock()


def global_pool() -> Pool:
    """The executor on the global pool of Rubato, `rubato::pool::global()`: the same object at each call.

    >>> from rubato import global_pool
    >>> global_pool().submit(len, "four").result()
    4

    At most as many calls run at once as the pool has workers at the first call of this function: as many as there are CPUs,
    unless C++ code has configured it. So calls that block for long belong into a `Pool` of their own. shutdown() waits, and leaves
    the pool open.
    """
    global _global
    with _global_lock:
        if _global is None:
            _global = _GlobalPool()
        return _global


def cmake_dir() -> str:
    """The folder of the CMake package in this installation, with which an extension links the same Rubato.

    cmake -Drubato_DIR=$(python -c 'import rubato; print(rubato.cmake_dir())') ...

    Raises RuntimeError if this package was built with an installed Rubato: then that one has the CMake package.
    """
    found = pathlib.Path(__file__).parent / "lib" / "cmake" / "rubato"
    if not found.is_dir():
        raise RuntimeError("this package was built with an installed Rubato: link that one")
    return str(found)


def _at_exit() -> None:
    """Every call that was submitted runs before the interpreter ends, as with ThreadPoolExecutor."""
    idle: list[None] = []
    changed: queue.SimpleQueue[None] = queue.SimpleQueue()  # an interrupt leaves it whole, but not an Event

    def count() -> None:
        idle.append(None)
        changed.put(None)

    try:
        number = _rubato.close_all(count)
        while len(idle) < number:
            changed.get()
    except BaseException:
        # A thread in a call may not outlive the interpreter. So the wait goes on, and a second SIGINT ends the process.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _rubato.close_all(count)
        _rubato.cancel_all()
        raise
    finally:
        _rubato.join_all()


def _after_fork_in_child() -> None:
    global _global_lock
    _global_lock = threading.Lock()
    for pool in _pools:
        pool._workers.by_number.clear()
    _rubato.reset_all_in_child()


# The hook with which concurrent.futures waits for its own threads; atexit's run when other threads have been waited for.
threading._register_atexit(_at_exit)  # type: ignore[attr-defined]
os.register_at_fork(after_in_child=_after_fork_in_child)
