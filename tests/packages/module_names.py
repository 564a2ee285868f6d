"""The module exports the names that the reference has, and no others."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import names  # noqa: E402

in_reference = {
    ("trace::" if header.name == "trace.hpp" else "") + name
    for header in names.public_headers()
    for of, name, _ in names.names_of(header)
    if not of
}
in_reference.add("context")  # a class in an internal header, which the reference shows with join()
in_module = set(re.findall(r"\brubato::((?:trace::)?\w+)(?=[,;])", (ROOT / "module/rubato.cppm").read_text()))
for name in sorted(in_reference ^ in_module):
    print(f"module/rubato.cppm {'lacks' if name in in_reference else 'has, and the reference lacks,'} {name}")
sys.exit(1 if in_reference != in_module or len(in_module) < 100 else 0)
