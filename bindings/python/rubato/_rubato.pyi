from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

class CallQueue:
    """A queue of calls, and the tasks of a pool of Rubato that run them. The pool ends with the object."""

    def __init__(
        self, workers: int, name: str, on_start: Callable[[int], bool], on_exit: Callable[[int], object]
    ) -> None:
        """Each thread calls on_start(number) before its first task; False breaks the queue. on_exit(number) is its last call."""

    def submit(
        self, future: Future[Any], function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None: ...
    def close(self) -> None:
        """Refuses calls from now on. When all calls have run, the threads end."""

    def cancel_queued(self) -> None:
        """Cancels the calls that have not begun."""

    def when_idle(self, f: Callable[[], object]) -> None:
        """Calls f once, when no call is queued or runs."""

    def join(self) -> None:
        """Waits for the calls and the threads of a queue that is closed; no signal ends the wait."""

    def capsule(self, owner: object) -> object:
        """The pool's address; the capsule keeps the owner alive."""

    @property
    def limit(self) -> int:
        """How many calls run at once."""

    @property
    def is_broken(self) -> bool:
        """Whether an initializer has failed."""

    @property
    def is_running_here(self) -> bool:
        """Whether the calling thread runs a task of the pool."""

def global_queue() -> CallQueue:
    """The queue of the global pool. To be called once."""

def close_all(f: Callable[[], object]) -> int:
    """Closes all queues, lets none be made, calls f once for each as it is idle, and returns their number."""

def cancel_all() -> None:
    """Cancels the calls that have not begun, in all queues."""

def join_all() -> None:
    """Waits for the calls and the threads of all queues; no signal ends the wait."""

def reset_all_in_child() -> None:
    """Empties all queues, in the child after a fork."""
