"""by_ctypes.py LIBRARY: uses the C interface from an interpreter, without a compiler."""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.rb_spawn.argtypes = [ctypes.c_void_p] * 4
call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
part = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class Options(ctypes.Structure):
    """The first two fields of rb_pool_options: the library gives the others their defaults."""

    _fields_ = [("size", ctypes.c_size_t), ("workers", ctypes.c_uint32)]


def expect(right, what):
    if not right:
        sys.exit(f"wrong: {what}")


expect(library.rb_abi_version() == 1, "the version")
pool = ctypes.c_void_p()
options = Options(12, 2)
expect(library.rb_pool_new(ctypes.byref(options), ctypes.byref(pool)) == 0, "a pool")
expect(library.rb_pool_size(pool) == 2, "its size")

workers = []
on_worker = call(lambda arg, worker: workers.append(worker))
expect(library.rb_call(pool, on_worker, None) == 0 and workers[0] is not None, "a call")

seen = bytearray(1000)


@part
def mark(arg, worker, lo, hi):
    for i in range(lo, hi):
        seen[i] += 1


library.rb_for_range.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, part, ctypes.c_void_p]
expect(library.rb_for_range(pool, len(seen), 1, mark, None) == 0 and set(seen) == {1}, "a loop")

future = ctypes.c_void_p()
answer = function(lambda arg: 42)
expect(library.rb_spawn(pool, answer, None, ctypes.byref(future)) == 0, "a spawn")
result = ctypes.c_void_p()
expect(library.rb_future_wait(future, ctypes.byref(result)) == 0 and result.value == 42, "its result")
library.rb_future_free(future)

expect(library.rb_pool_shutdown(pool, 0) == 0, "a shutdown")
expect(library.rb_call(pool, on_worker, None) == -125, "a call of a closed pool")  # ECANCELED
expect(library.rb_pool_free(pool) == 0, "the end")
