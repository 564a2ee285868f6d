"""The headers of adapters/ as Markdown: one page each. A class is shown as its public part stands in the header.

Doxygen does not read them: it would need the libraries that they adapt.
"""

import re

from c_reference import text_of
from names import ALIAS, FUNCTION, OBJECT, TYPE, outside_detail
from reference import fence, join


def public_part(lines):
    """Of a class: without what is private. Of a function: its declaration."""
    if not any(TYPE.match(line) for line in lines):
        head = next((i for i, line in enumerate(lines) if line.endswith("{")), None)
        return lines if head is None else [*lines[:head], lines[head].removesuffix(" {") + ";"]
    out, hidden = [lines[0]], lines[0].startswith("class") and not lines[0].endswith(";")
    for line in lines[1:]:
        if re.match(r"(public|private|protected):", line):
            hidden = not line.startswith("public")
        if not hidden or line.startswith("}") or re.match(r"(template|class|struct)", line):
            out.append(line)
            hidden = hidden or line.startswith("class") and line.endswith("{")
    return without_bodies(out)


def without_bodies(lines):
    """Members as declarations."""
    out, until = [], None
    for line in lines:
        if until:
            if re.search(until, line):
                until = r"^  \}" if line.endswith(" {") else None
        elif re.match(r" {6}[:,] ", line):  # initialisers
            out[-1] = out[-1].rstrip(";") + ";"
            until = r"^  \}" if line.endswith(" {") else None if line.endswith("}") else r" \{\}?$"
        elif re.match(r"  +[^ /}]", line) and line.endswith(" {") and "(" in line or re.match(r" {3,}[^ /].*\) .*\{$", line):
            out.append(line.removesuffix(" {") + ";")
            until = r"^  \}"
        else:
            out.append(re.sub(r" \{.*\}$", ";", line) if re.match(r"  [^/]", line) else line)
    return out


def entries(text):
    """[(name, what is said of it, its lines)] of what has a comment in the namespace."""
    said, lines = [], []
    for line in outside_detail(text):
        if not lines and line.startswith("///"):
            said.append(line[4:])
        elif said and (lines or re.match(r"[\w\[]", line)):
            lines.append(line)
            code = re.sub(r'//.*|"(\\.|[^"\\])*"', "", "\n".join(lines)).rstrip()
            if code[-1] in ";}" and sum(map(code.count, "({")) == sum(map(code.count, ")}")):
                code = [re.sub(r"\[\[.*?\]\] ?", "", row) for row in lines]
                name = next((m[1] for row in code for kind in (ALIAS, OBJECT, TYPE, FUNCTION) if (m := kind.match(row))), None)
                if name:
                    yield name, said, lines
                said, lines = [], []
        elif not line.startswith("///"):
            said = []


def page(root, header):
    name, adapter = "rubato/" + header.name, header.parents[2].name
    text = header.read_text()
    intro = re.match(r"(//.*\n)*", text)[0]
    path = header.relative_to(root)
    blocks = [f"# {name}", f"`#include <{name}>`, with the target `rubato::{adapter}`. [The header](../source/{path}.md)",
              *text_of("\n".join(line[3:] for line in intro.split("\n")), "cpp")]
    guides = [p for p in (f"docs/adapters/{adapter}.md",) if (root / p).exists()]
    blocks += [f"[How to use it](../{p})" for p in guides]
    last = ""
    for title, said, lines in entries(text):
        blocks += [f"## `{title}` {{ #{title} }}"] * (title != last)
        last = title
        blocks += [*text_of("\n".join(said), "cpp"), fence("\n".join(public_part(lines)))]
    return join(blocks) + "\n"
