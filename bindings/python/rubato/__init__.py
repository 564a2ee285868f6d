"""One thread pool for Python and C++.

`Pool` is a `concurrent.futures.Executor` whose calls run on the threads of Rubato, a thread pool for C++ programs:

>>> import zlib
>>> from rubato import Pool
>>> with Pool(max_workers=2) as pool:
...     pieces = list(pool.map(zlib.compress, [b"a" * 1_000_000, b"b" * 1_000_000]))
>>> [len(piece) < 2_000 for piece in pieces]
[True, True]

It is for calls that release the interpreter's lock, such as `zlib`, `hashlib` and NumPy, and for programs whose C++ part uses
Rubato. For small calls of pure Python no pool of threads is a gain.
"""

from rubato._pool import Pool, cmake_dir, global_pool

__all__ = ["Pool", "cmake_dir", "global_pool"]
