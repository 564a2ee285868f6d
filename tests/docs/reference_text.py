"""What docs/site makes of the comments in headers of C and of adapters."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import adapter_reference  # noqa: E402
import c_reference  # noqa: E402
import names  # noqa: E402


def expect(found, wanted):
    assert found == wanted, f"{found!r} instead of {wanted!r}"


# A paragraph that begins with bold text, in both languages. A lonely star is a star.
expect(c_reference.text_of("**Waits.** Not `a * b`, but 2 * 3.\n\n**All** of it."), ["**Waits.** Not `a * b`, but 2 \\* 3.", "**All** of it."])
expect(c_reference.inside("/* A pool.\n *\n * **Waits** for `**p`. */"), "A pool.\n\n**Waits** for `**p`.")
expect(c_reference.text_of("Returns **made, or null; see x**y.", "c"), ["Returns \\*\\*made, or null; see x\\*\\*y."])

# Comments before a field, behind it, and in several lines.
code, rows = c_reference.members("""typedef struct rb_a {
  size_t size; /* in bytes */
  /* Called once, when
   * a | b. */
  void (*release)(void* arg);
  uint64_t read, written; /* since then */
  char name[16];
} rb_a;""")
expect(code, "```c\ntypedef struct rb_a {\n  size_t size;\n  void (*release)(void* arg);\n  uint64_t read, written;\n  char name[16];\n} rb_a;\n```")
expect(rows.split("\n")[2:], ["| `size` | in bytes |", "| `release` | Called once, when a \\| b. |", "| `read`, `written` | since then |"])
_, rows = c_reference.members("enum {\n  /* The first. */\n  RB_A = 1,\n  RB_B = 2, /* the second */\n  RB_C = 4 /* the\n  third */\n};")
expect(rows.split("\n")[2:], ["| `RB_A` | The first. |", "| `RB_B` | the second |", "| `RB_C` | the third |"])
# No comment is lost.
for header in names.c_headers():
    for m in c_reference.ITEM.finditer(c_reference.OWN.sub("", header.read_text())):
        declaration = m["declaration"] or ""
        if declaration.startswith("enum {") or declaration.startswith("typedef struct") and "{" in declaration:
            _, *found = c_reference.members(declaration)
            expect(sum(rows.count("\n") - 1 for rows in found), declaration.count("/*"))

# Members of a class are entries of their own, and nothing private is shown.
header = ROOT / "adapters/mpi/include/rubato/mpi.hpp"
text = adapter_reference.page(ROOT, header)
for entry in ("### `session::session` {", "### `session::rank` {", "### `error::code` {", "| `index` | `std::size_t` | in the span |"):
    assert entry in text, entry
for hidden in ("rank_", "text_of", "= delete", "nodiscard"):
    assert hidden not in text, hidden
for header in names.adapter_headers():
    text = adapter_reference.page(ROOT, header)
    for of, name, is_datum in names.names_of(header):
        title = f"| `{name}` |" if is_datum else f"`{of}::{name}` {{" if of else f"## `{name}` {{"
        assert title in text, f"{header.name} has no entry {title}"
