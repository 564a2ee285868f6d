"""The headers of the C interface as Markdown: one page each, with an entry for each declaration and its comment.

Doxygen would want a comment of its own for every field. The layout of the headers is fixed by scripts/format.
"""

import re

from reference import escape, fence, join, table

OWN = re.compile(r"^#if defined\(__(?:GNUC__|cplusplus)\).*?^#endif\n|^#(?:include|ifndef|endif)[^\n]*\n"
                 r"|^#define RUBATO_C_\w+_H\n|^RB_(?:BEGIN|END)\n", re.M | re.S)
ITEM = re.compile(r"""
    (?P<comment> /\*.*?\*/ )
  | (?P<function> static\ inline [^{]* ) \{ .*? ^\}
  | (?P<declaration> \#define (?:[^\\\n]|\\\n)* | [a-zA-Z] (?: [^;{]* \{ [^}]* \} )? [^;{]* ; [^\n]* )
  """, re.M | re.S | re.X)


def inside(comment):
    """The text of a comment of C."""
    lines = comment.removeprefix("/*").removesuffix("*/").strip().split("\n")
    return "\n".join(re.sub(r"^ *\* ?", "", line) for line in lines)


def prose(text):
    """A paragraph. Code in backquotes stays as it is, and what is **bold**."""
    pieces = re.split(r"(`[^`]*`|(?<![\w*])\*\*(?=[^\s*])[^*`]+(?<=\S)\*\*(?!\w))", " ".join(text.split()))
    return "".join(p if p.startswith("`") else f"**{escape(p[2:-2])}**" if p.startswith("**") and p.endswith("**") else escape(p)
                   for p in pieces)


def text_of(text, language="c"):
    """Paragraphs, and what is indented as code."""
    blocks = []
    for part in re.split(r"\n{2,}", text.strip()) if text.strip() else []:
        if part.startswith("  "):
            code = re.sub(r"^  ", "", part, flags=re.M)
            if blocks and blocks[-1].startswith("```"):
                blocks[-1] = blocks[-1].removesuffix("\n```") + "\n\n" + code + "\n```"
            else:
                blocks.append(fence(code, language))
        else:
            blocks.append(prose(part))
    return blocks


def name_of(declaration):
    """Of the declaration; of an enumeration all its constants."""
    if declaration.startswith("enum"):
        return ", ".join(re.findall(r"\b(RB_\w+) =", declaration))
    for pattern in (r"^#define (\w+)", r"^\} (\w+);", r"\b(rb_\w+)\(", r"\(\*(rb_\w+)\)", r"(\w+);[^\n]*$"):
        if m := re.search(pattern, declaration, re.M):
            return m[1]
    raise ValueError(f"c_reference.py cannot name {declaration}")


def members(code):
    """A struct or an enumeration without its comments, and the table of what they say of its fields or constants."""
    head, body, tail = re.fullmatch(r"(.*?\{)(.*)(\}.*)", code, re.S).groups()
    is_enum = head.startswith("enum")
    rows, before = [], ""
    end = r"(?:,(?=\s)|(?=\s*(?:/\*|$)))" if is_enum else ";"
    for m in re.finditer(rf"(/\*.*?\*/)|([a-zA-Z][^/;]*?){end}([ \t]*/\*.*?\*/)?", body, re.S):
        if m[1]:
            before = m[1]
            continue
        said, before = [inside(c.strip()) for c in (before, m[3]) if c], ""
        if not said:
            continue
        field = re.search(r"^\w+(?= =)" if is_enum else r"(?<=\(\*)\w+|\w+(, \w+)*(?=(\[\w+\])?$)", m[2])[0]
        rows.append([", ".join(f"`{name}`" for name in field.split(", ")), prose(" ".join(said)).replace("|", "\\|")])
    code = re.sub(r"[ \t]*/\*.*?\*/", "", body, flags=re.S)
    code = fence(head + re.sub(r"\n{2,}", "\n", code) + tail, "c")
    return [code, table(["constant" if is_enum else "member", "meaning"], rows)] if rows else [code]


def page(header, name):
    text = header.read_text()
    intro = re.match(r"/\*.*?\*/", text, re.S)[0]
    body = OWN.sub("", text[len(intro):])
    blocks = [f"# rubato/c/{name}", f"`#include <rubato/c/{name}>`. [The header](../source/include/rubato/c/{name}.md)", *text_of(inside(intro))]
    said = []
    end = 0
    for m in ITEM.finditer(body):
        if m["comment"]:
            said = text_of(inside(m["comment"]))
        else:
            code = (m["declaration"] or m["function"].rstrip() + ";").replace("RB_API ", "").replace(" RB_NOEXCEPT", "")
            if not re.fullmatch(r"\s*", body[end:m.start()]):
                raise ValueError(f"c_reference.py cannot read {header}: {body[end:m.start()]}")
            title = name_of(code)
            shown, *meaning = members(code) if re.match(r"typedef struct [^;]*\{|enum \{", code) else [fence(code, "c")]
            blocks += [f"## `{title}` {{ #{title.partition(',')[0]} }}", shown, *said, *meaning]
            said = []
        end = m.end()
    return join(blocks) + "\n"


def pages(headers):
    texts = {f"reference/c-{h.name}.md": page(h, h.name) for h in headers}
    rows = [[f"[`rubato/c/{h.name}`](c-{h.name}.md)", text_of(inside(re.match(r"/\*.*?\*/", h.read_text(), re.S)[0]))[0]] for h in headers]
    index = ["# C interface", "For C, and for other languages: [how to use it](../docs/c.md).", table(["header", "what it has"], rows)]
    return {"reference/c.md": join(index) + "\n", **texts}
