"""host.py PLUGIN: loads a library into an interpreter that runs already, uses it, closes it and loads it again."""

import _ctypes
import ctypes
import sys

for _ in range(3):
    plugin = ctypes.CDLL(sys.argv[1])
    plugin.rubato_plugin_use.restype = ctypes.c_long
    result = plugin.rubato_plugin_use()
    if result != 117:
        sys.exit(f"117 expected, {result} returned")
    _ctypes.dlclose(plugin._handle)
