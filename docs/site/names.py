"""The public names of the headers, as their text has them: not by way of Doxygen, so that what Doxygen loses is missed.

It relies on the layout of the headers (scripts/format): a name of the namespace stands at the beginning of a line, a
member behind two blanks.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OBJECT = re.compile(r"inline constexpr [\w:<>, ]+ (\w+)(?:\{.*|\(\);|;)")
TYPE = re.compile(r"(?:class|struct|enum class) (\w+)\b")
WRAPPED_TYPE = re.compile(r'\s+"[^"]*"\)\]\] (\w+)')  # behind a long [[nodiscard("...")]]
ALIAS = re.compile(r"using (\w+) = ")
FUNCTION = re.compile(r"(?!return|else|if|for|while|using|friend)[\w\[:<][^()=]*?\b(~?\w+)\(")
DATA = re.compile(r"  (?!return|using|static_assert)[\w:<>, ]+? ([a-z]\w*)(?: = [^;,]+)?; +///<")
NO_MEMBER = {"operator", "static_assert", "requires", "noexcept", "nodiscard", "co_await", "awaiter", "promise_type"}


def public_headers():
    return sorted([*ROOT.glob("include/rubato/*.hpp"), *ROOT.glob("include/rubato/algorithm/*.hpp")])


def outside_detail(text):
    """The lines that are not in a `namespace detail`."""
    open_braces = 0
    for line in text.split("\n"):
        if open_braces or re.match(r"namespace (rubato::)?detail \{", line):
            code = re.sub(r'//.*|"(\\.|[^"\\])*"', "", line)
            open_braces += code.count("{") - code.count("}")
        else:
            yield line


def names_of(header):
    """[(class or '', name, is it a datum)] of one header."""
    found = []
    of, is_public, said = "", False, False
    for line in outside_detail(header.read_text().replace("RUBATO_API ", "")):
        code = re.sub(r"\[\[.*?\]\] ?", "", line).replace("decltype(auto)", "auto")
        if m := OBJECT.match(line) or ALIAS.match(line):
            found.append(("", m[1], False))
        elif (m := TYPE.match(code) or WRAPPED_TYPE.match(line)) and not line.endswith(";"):
            of, is_public = m[1], line.startswith("struct")
            found.append(("", of, False))
        elif m := re.match(r"(public|private|protected):", line):
            is_public = m[1] == "public"
        elif line.startswith("}"):
            of = ""
        elif said and re.match(r"[\w\[]", line) and (m := FUNCTION.match(code)) and m[1] not in NO_MEMBER:
            found.append(("", m[1], False))
        elif of and is_public and said and re.match(r"  [\w\[~]", line) and "= delete" not in line:
            if (m := ALIAS.match(line.strip()) or FUNCTION.match(code.strip())) and m[1].strip("~") not in NO_MEMBER | {of}:
                found.append((of, m[1], False))
        elif of and is_public and (m := DATA.match(line)):
            found.append((of, m[1], True))
        if not re.match(r"\s*(template|requires)\b", line):
            said = bool(re.match(r"\s*///", line)) and "Does not compile" not in line
    return list(dict.fromkeys(found))


def c_headers():
    return sorted(ROOT.glob("include/rubato/c/*.h"))


def adapter_headers():
    return sorted(ROOT.glob("adapters/*/include/rubato/*.hpp"))


def c_names_of(header):
    text = header.read_text()
    found = re.findall(r"^RB_API [^;]*?\b(rb_\w+)\(|^static inline [^;]*?\b(rb_\w+)\(|^\} (rb_\w+);|^typedef struct \w+ (rb_\w+);", text, re.M)
    return list(dict.fromkeys(name for names in found for name in names if name))


def all_names():
    """[(header, class or '', name, is it a datum)]"""
    found = [(h, *of) for h in public_headers() for of in names_of(h)]
    found += [(h, "", name, False) for h in c_headers() for name in c_names_of(h)]
    return found + [(h, *of) for h in adapter_headers() for of in names_of(h)]


if __name__ == "__main__":
    for header, of, name, _ in all_names():
        print(header.relative_to(ROOT), of, name)
