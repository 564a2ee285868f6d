"""The headers of adapters/ as Markdown: one page each, with an entry for each name and, below a class, for each public member.

Doxygen does not read them: it would need the libraries that they adapt.
"""

import re

from c_reference import prose, text_of
from names import ALIAS, FUNCTION, OBJECT, TYPE, outside_detail
from reference import anchor_of, block_of, fence, join, table


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


def without_attributes(lines):
    """As in the rest of the reference. Parameters stay below each other."""
    out, gone = [], 0
    for line in lines:
        kept = re.sub(r"\[\[.*?\]\] ?", "", line)
        aligned = re.match(r" {14}", line) and gone
        gone = gone if aligned else len(line) - len(kept)
        out.append(line[gone:] if aligned else kept)
    return out


def name_of(declaration, of):
    """Of a member; None if it can only be seen that it is not there."""
    code = " ".join(re.sub(r"^template<.*>$", "", line) for line in declaration.split("\n")).strip()
    if code.endswith("= delete;"):
        return None
    if m := ALIAS.match(code) or re.search(r"\b(operator ?[^\s(]+|operator [^(]+|operator\(\))\(", code) or FUNCTION.match(code):
        return "Constructors" if m[1].strip("~") in (of, "operator=") else m[1]
    return "Constructors" if re.match(rf"(explicit )?~?{of}\(", code) else "Data members"


def members(lines, of):
    """{name: [(what is said, declaration)]} of the public part of a class, in order; constructors first, data last."""
    found = {}
    said, code, same = [], [], []
    for line in lines[next(i for i, line in enumerate(lines) if line.endswith("{")) + 1:]:
        if m := re.match(r"  (?:///|//) ?(.*)", line):
            said.append(m[1])
        elif re.match(r"  ", line):
            row, _, behind = line[2:].partition(" ///<")
            code.append(row)
            if row.endswith(";"):
                declaration = "\n".join(code)
                if name := name_of(declaration, of):
                    found.setdefault(name, []).append((said + [behind.strip()] * bool(behind), declaration))
                said, code = [], []
        else:
            said, code = [], []
    order = {"Constructors": -1, "Data members": 1}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], 0)))


def class_blocks(lines, of):
    """The declaration of a class, and its members."""
    head = [line.removesuffix(" {") + (";" if line.endswith("{") else "")
            for line in lines[:next(i for i, line in enumerate(lines) if line.endswith("{")) + 1]]
    blocks = []
    for name, found in members(lines, of).items():
        if name == "Data members":
            rows = []
            for said, declaration in found:
                kind, _, called = declaration.removesuffix(";").rpartition(" ")
                rows.append([f"`{called}`", f"`{kind}`", prose(" ".join(said)).replace("|", "\\|")])
            blocks.append(table(["member", "type", "meaning"], rows))
            continue
        member = of if name == "Constructors" else name
        blocks.append(f"### `{of}::{member}` {{ #{anchor_of(of + '-' + member)} }}")
        together = []  # those of which nothing is said stand with what is before them
        for said, declaration in found:
            if together and (said or declaration.startswith("~")):
                blocks += [block_of([d for _, d in together]), *text_of("\n".join(together[0][0]), "cpp")]
                together = []
            together.append((said, declaration))
        blocks += [block_of([d for _, d in together]), *text_of("\n".join(together[0][0]), "cpp")]
    return fence("\n".join(head)), blocks


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
        shown, inner = without_attributes(public_part(lines)), []
        if lines[-1] == "};" and any(TYPE.match(line) for line in lines):
            code, inner = class_blocks(shown, title)
        else:
            code = fence("\n".join(shown))
        blocks += [code, *text_of("\n".join(said), "cpp"), *inner]
    return join(blocks) + "\n"
