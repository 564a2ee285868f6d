"""A worker of Dask whose tasks run on a pool of Rubato, on the threads of the C++ code in the same process.

    pip install distributed
    python dask_worker.py
"""

import asyncio
import threading
import zlib

import distributed
import rubato


class RubatoThreadPoolExecutor(rubato.Pool):
    """Dask takes an executor for one of threads if its class has this name, and else gives its tasks no get_worker()."""


def text_of(n: int) -> bytes:
    return b"%d bottles of beer on the wall\n" % n * 20_000


def pack(n: int) -> tuple[str, str, bytes]:
    packed = zlib.compress(text_of(n))  # without the interpreter's lock
    return distributed.get_worker().name, threading.current_thread().name, packed


async def main() -> None:
    here = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    async with (
        distributed.Scheduler(port=0, **here) as scheduler,  # else a process of its own, often on another machine
        distributed.Worker(
            scheduler.address, name="presses", nthreads=2, executor=RubatoThreadPoolExecutor(2, "press"), **here
        ),
        distributed.Client(scheduler.address, asynchronous=True) as client,
    ):
        packed = await client.gather(client.map(pack, range(40)))
    for n, (worker, thread, text) in enumerate(packed):
        assert worker == "presses" and thread in ("press_0", "press_1") and zlib.decompress(text) == text_of(n)
    print("packed", sum(len(text_of(n)) for n in range(40)), "bytes into", sum(len(text) for _, _, text in packed))


if __name__ == "__main__":
    asyncio.run(main())
