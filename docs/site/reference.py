"""Doxygen's XML of the public headers as Markdown: one page for each header, with its free functions, and for each class.

A header with a single class and that class are one page. Overloads are one entry. pages(xml, names) returns the text of
each page, and what the other steps must know of them: where each header is told, and how the pages are grouped.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections import defaultdict

WIDTH = 100  # of a declaration, in characters
SHOWN = {"public-func", "public-static-func", "public-attrib", "public-static-attrib", "public-type"}


def escape(text):
    """Plain text, so that Markdown finds nothing in it."""
    text = re.sub(r"([\\*`\[\]])", r"\\\1", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"^(\s*)([#+-]|\d+\.)(\s)", r"\1\\\2\3", text)


def spaced(code):
    """`F &&f` as the headers have it: `F&& f`."""
    code = re.sub(r"\s+", " ", code)
    code = re.sub(r" (&{1,2}|\*) ?(?=[\w.])", r"\1 ", code)
    code = re.sub(r" (&{1,2}|\*)(?=[,)>&*]|$)", r"\1", code)
    code = re.sub(r"(&{1,2}|\*) \.\.\.", r"\1...", code)
    code = re.sub(r" ?(?<![=<>!])=(?!=) ?", " = ", code)
    return code.replace("< ", "<").replace(" >", ">").strip()


def plain(element):
    """The text of an element, as code."""
    if element is None:
        return ""
    if element.tag == "sp":
        return " " + (element.tail or "")
    return (element.text or "") + "".join(plain(e) if e.tag == "sp" else plain(e) + (e.tail or "") for e in element)


class Writer:
    """Writes descriptions, whose links lead to the places in `places`: the id of a name -> page, anchor."""

    def __init__(self):
        self.places = {}

    def link(self, element):
        text = plain(element)
        place = self.places.get(element.get("refid"))
        if not place:
            return "`" + text + "`"
        page, anchor = place
        return f"[`{text}`]({page}.md{'#' + anchor if anchor else ''})"

    def inline(self, element):
        out = escape(element.text or "")
        for e in element:
            if e.tag == "ref":
                out += self.link(e)
            elif e.tag == "computeroutput":
                link = e.find("ref")
                out += self.link(link) if link is not None and plain(link) == plain(e) else "`" + plain(e) + "`"
            elif e.tag == "bold":
                out += "**" + self.inline(e).strip() + "**"
            elif e.tag == "emphasis":
                out += "*" + self.inline(e).strip() + "*"
            elif e.tag == "ulink":
                out += f"[{self.inline(e)}]({e.get('url')})"
            elif e.tag in ("sp", "linebreak"):
                out += " "
            else:
                raise ValueError(f"reference.py cannot write <{e.tag}>")
            out += escape(e.tail or "")
        return re.sub(r"\s+", " ", out)

    def blocks(self, element):
        """A description as a list of paragraphs, lists, tables and blocks of code."""
        out = []
        for para in element.findall("para") if element is not None else []:
            rest = ElementTree.Element("para")
            rest.text = para.text

            def flush():
                nonlocal rest
                text = self.inline(rest).strip()
                if text:
                    out.append(text)
                rest = ElementTree.Element("para")

            for e in para:
                if e.tag in ("programlisting", "verbatim", "itemizedlist", "orderedlist", "table"):
                    flush()
                    out.append(self.block(e))
                    rest.text = e.tail
                else:
                    rest.append(e)
            flush()
        return out

    def block(self, e):
        if e.tag == "programlisting":
            return fence("\n".join(plain(line) for line in e.findall("codeline")))
        if e.tag == "verbatim":
            return fence(e.text, "text")
        if e.tag == "table":
            rows = [[" ".join(self.blocks(cell)).replace("|", "\\|") for cell in row.findall("entry")] for row in e.findall("row")]
            return table(rows[0], rows[1:])
        mark = "- " if e.tag == "itemizedlist" else "1. "
        return "\n".join(mark + "\n\n    ".join(self.blocks(item)) for item in e.findall("listitem"))

    def description(self, element):
        return self.blocks(element.find("briefdescription")) + self.blocks(element.find("detaileddescription"))


def fence(code, language="cpp"):
    return f"```{language}\n{code.rstrip()}\n```"


def table(head, rows):
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


def templates(element):
    found = element.find("templateparamlist")
    if found is None:
        return ""
    parts = []
    for p in found.findall("param"):
        part = plain(p.find("type"))
        if p.find("declname") is not None and not re.search(rf"\b{p.find('declname').text}$", part):
            part += " " + p.find("declname").text
        if p.find("defval") is not None:
            part += " = " + plain(p.find("defval"))
        parts.append(spaced(part))
    return filled("template<", parts, ">") + "\n"


def filled(head, parts, tail):
    """Parts behind each other; those that would be too far right begin lines of their own."""
    lines = [head]
    for i, part in enumerate(parts):
        end = "," if i + 1 < len(parts) else tail
        if len(lines[-1] + " " + part + end) > WIDTH and i > 0:
            lines.append(" " * len(head) + part + end)
        else:
            lines[-1] += " " * (i > 0) + part + end
    return "\n".join(lines)


def wrapped(line):
    """A declaration that is too long, its parameters in several lines."""
    if len(line) <= WIDTH or "(" not in line:
        return line
    start = line.index("(", line.index("operator()") + 10 if "operator()" in line else 0) + 1
    parts, depth = [""], 0
    for i, c in enumerate(line[start:], start):
        depth += c in "(<[{"
        depth -= c in ")>]}"
        if depth < 0:
            return filled(line[:start], [p.strip() for p in parts], line[i:])
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return line


def declaration(m):
    kind, name = m.get("kind"), m.find("name").text
    kept = re.sub(r"\b(constexpr|static|explicit)\b ?", "", spaced(plain(m.find("type")))).strip()
    constexpr = "constexpr " if "constexpr" in plain(m.find("type")) or m.get("constexpr") == "yes" else ""
    if kind == "enum":
        values = [f"  {v.find('name').text}{' ' + v.find('initializer').text if v.find('initializer') is not None else ''}"
                  for v in m.findall("enumvalue")]
        return f"enum {'class ' if m.get('strong') == 'yes' else ''}{name} {{\n" + ",\n".join(values) + "\n};"
    if kind == "typedef":
        return f"{templates(m)}using {name} = {kept};"
    if kind == "variable":
        value = plain(m.find("initializer"))
        prefix = "inline " if constexpr else ""
        return f"{prefix}{constexpr}{kept} {name}{value if value.startswith('{') or not value else ' ' + value};"
    words = "static " if m.get("static") == "yes" else "explicit " if m.get("explicit") == "yes" else ""
    requires = plain(m.find("requiresclause")).strip()
    requires = f"  requires {spaced(requires)}\n" if requires else ""
    head = " ".join(w for w in (kept, name) if w)
    return templates(m) + requires + wrapped(f"{words}{constexpr}{head}{spaced(m.find('argsstring').text or '')};")


def repeated(name, blocks):
    """What docs-filter says of an overload that its first one explains."""
    return len(blocks) <= 1 and re.match(r"As (\[`|~)?[\w:~]*" + re.escape(name) + r"(\(\))?(`\]\([^)]*\))? above\b", "".join(blocks))


def entry(writer, title, anchor, members):
    """A heading, and each declaration above what is said of it."""
    out = [f"## {title} {{ #{anchor} }}"]
    code, said = [], []
    for m in members:
        blocks = writer.description(m)
        if m.get("kind") == "enum":
            blocks += ["- `" + v.find("name").text + "`: " + " ".join(writer.description(v)) for v in m.findall("enumvalue")
                       if writer.description(v)]
        if code and not (not said and blocks) and not repeated(m.find("name").text, blocks):
            out += [block_of(code), *said]
            code, said = [], []
        code.append(declaration(m))
        if not repeated(m.find("name").text, blocks):
            said = blocks
    out += [block_of(code), *said]
    return join(out)


def block_of(declarations):
    """Declarations of several lines are apart."""
    return fence(("\n\n" if any("\n" in d for d in declarations) else "\n").join(declarations))


def join(blocks):
    """Items of a list stay together; everything else is apart."""
    text = ""
    for before, block in zip([""] + blocks, blocks):
        text += ("" if not text else "\n" if before.startswith("- ") and block.startswith("- ") else "\n\n") + block
    return text


def anchor_of(name):
    named = {"operator()": "call", "operator=": "assign"}
    return named.get(name, re.sub(r"[^\w-]+", "-", name.lower()).strip("-"))


class Page:
    def __init__(self, name, title, header):
        self.name, self.title, self.header = name, title, header
        self.compound = self.file = None  # Doxygen's elements of the class and of the header that the page is of
        self.entries, self.group = [], []  # (name, anchor, members); pages of classes


class Reference:
    def __init__(self, xml, public):
        """`public` are the names that headers define outside `detail`: other classes are shown by those derived from them."""
        self.writer = Writer()
        self.compounds = {}
        for path in sorted(xml.glob("*.xml")):
            for c in ElementTree.parse(path).getroot().findall("compounddef"):
                self.compounds[c.get("id")] = c
        self.public = public
        self.pages, self.headers = {}, {}
        self.collect()

    def of_kind(self, *kinds):
        return [c for c in self.compounds.values() if c.get("kind") in kinds]

    def collect(self):
        self.free = defaultdict(list)
        for c in self.of_kind("namespace"):
            prefix = c.find("compoundname").text.removeprefix("rubato").removeprefix("::")
            for m in c.iter("memberdef"):
                self.free[m.find("location").get("file")].append((f"{prefix}::" if prefix else "", m))
        classes = defaultdict(list)
        self.bases, self.nested = [], defaultdict(list)
        for c in self.of_kind("class", "struct"):
            name = c.find("compoundname").text.removeprefix("rubato::")
            outer = name.rpartition("::")[0]
            if outer and any(d.find("compoundname").text == "rubato::" + outer for d in self.of_kind("class", "struct")):
                self.nested[outer].append(c)
            elif name.rpartition("::")[2] not in self.public and c.find("derivedcompoundref") is not None:
                self.bases.append(c)
            else:
                classes[c.find("location").get("file")].append((name, c))
        for c in sorted(self.of_kind("file"), key=lambda c: c.find("location").get("file")):
            header = c.find("location").get("file")
            if header.endswith(".hpp"):
                self.header(header, c, sorted(classes[header], key=lambda pair: int(pair[1].find("location").get("line"))))
        self.place_bases()

    def header(self, header, file, classes):
        tags = [pair for pair in classes if self.is_tag(pair[1])]
        classes = [pair for pair in classes if pair not in tags]
        base = header.rpartition("/")[2]
        assert base + ".md" not in self.headers.values(), base
        named = base.removesuffix(".hpp")
        if len(classes) == 1 and (classes[0][0] == named or not self.free[header]):
            main = self.class_page(*classes[0])
        else:
            main = self.new_page(base, base, header)
            main.group = [self.class_page(*pair) for pair in classes]
        self.headers[header] = main.name
        self.writer.places[file.get("id")] = (main.name, "")
        main.file = file
        entries = defaultdict(list)
        for prefix, m in self.free[header]:
            if m.get("kind") != "friend":
                entries[prefix + m.find("name").text].append(m)
        for _, c in tags:
            self.writer.places[c.get("id")] = (main.name, anchor_of(c.find("compoundname").text.rpartition("::")[2]))
            entries[c.find("compoundname").text.removeprefix("rubato::")].append(c)
        self.add(main, entries)

    def is_tag(self, c):
        """The type of a constant, such as drain_t of drain: it holds nothing."""
        name = c.find("compoundname").text.rpartition("::")[2]
        return name.endswith("_t") and all(m.find("name").text in ("kind", name) for m in c.iter("memberdef"))

    def new_page(self, name, title, header):
        assert name not in self.pages, name
        self.pages[name] = Page(name, title, header)
        return self.pages[name]

    def class_page(self, name, c):
        page = self.new_page(name.replace("::", "-"), name, c.find("location").get("file"))
        page.compound = c
        self.writer.places[c.get("id")] = (page.name, "")
        self.add(page, self.members(name, c))
        return page

    def members(self, name, c, prefix=""):
        entries = defaultdict(list)
        own = name.rpartition("::")[2]
        for section in c.findall("sectiondef"):
            if section.get("kind") not in SHOWN:
                continue
            for m in section.findall("memberdef"):
                called = m.find("name").text
                made = called in (own, "~" + own, "operator=")
                at = "Constructors" if made else "Data members" if m.get("kind") == "variable" else called
                entries[prefix + at].append(m)
        inner = sorted(self.nested[name], key=lambda n: int(n.find("location").get("line")))
        for n in inner:
            called = n.find("compoundname").text.removeprefix("rubato::")
            short = called.removeprefix(name + "::")
            if plain(n.find("briefdescription")).strip():
                entries[prefix + short].append(n)
                entries.update(self.members(called, n, prefix + short + "::"))
        # What makes an object comes first, what it holds last.
        order = {prefix + "Constructors": -1, prefix + "Data members": 1}
        return dict(sorted(entries.items(), key=lambda e: order.get(e[0], 0)))

    def add(self, page, entries):
        taken = set()
        for name, members in entries.items():
            anchor = anchor_of(name)
            if name.endswith("::Data members"):  # the table of the class above
                page.entries.append((name, anchor_of(name.rpartition("::")[0]), members))
                continue
            assert anchor not in taken, (page.name, name)
            taken.add(anchor)
            page.entries.append((name, anchor, members))
            for m in members:
                self.writer.places.setdefault(m.get("id"), (page.name, anchor))

    def place_bases(self):
        """A link to a member of a base class leads to the first class that has it."""
        for c in self.bases:
            derived = c.find("derivedcompoundref")
            while derived is not None and self.compounds[derived.get("refid")] in self.bases:
                derived = self.compounds[derived.get("refid")].find("derivedcompoundref")
            if derived is None:
                continue
            page, _ = self.writer.places[derived.get("refid")]
            self.writer.places[c.get("id")] = (page, "")
            for m in c.iter("memberdef"):
                self.writer.places.setdefault(m.get("id"), (page, anchor_of(m.find("name").text)))

    def base_text(self, c):
        out = []
        for b in c.findall("basecompoundref"):
            base = self.compounds.get(b.get("refid"))
            if base in self.bases:
                out += self.writer.blocks(base.find("detaileddescription")) + self.base_text(base)
        return out

    def class_declaration(self, c):
        bases = [b.text for b in c.findall("basecompoundref")
                 if not re.search(r"\bdetail\b", b.text) and self.compounds.get(b.get("refid")) not in self.bases]
        bases = " : public " + ", public ".join(spaced(b.removeprefix("rubato::")) for b in bases) if bases else ""
        return f"{templates(c)}{c.get('kind')} {c.find('compoundname').text.removeprefix('rubato::')}{bases};"

    def variables(self, members):
        rows = [[f"`{m.find('name').text}`", "`" + spaced(plain(m.find("type"))).replace("|", "\\|") + "`",
                 " ".join(self.writer.description(m)).replace("|", "\\|")] for m in members]
        return table(["member", "type", "meaning"], rows)

    def write(self, page):
        blocks = [f"# {page.title}", f"`#include <{page.header}>`, in the namespace `rubato`. "
                  f"[The header](../source/include/{page.header}.md)"]
        compound, file = page.compound, page.file
        if compound is not None:
            blocks += [fence(self.class_declaration(compound)), *self.writer.description(compound), *self.base_text(compound)]
            for b in compound.findall("basecompoundref"):
                if self.compounds.get(b.get("refid")) not in [None, *self.bases]:
                    blocks.append(f"What is said of its base holds for it, too: {self.writer.link(b)}.".replace("rubato::", ""))
        if file is not None:
            said = self.writer.description(file)
            blocks += (["## Example"] if compound is not None else []) + said
            for c in self.of_kind("namespace"):  # one within rubato
                if c.find("compoundname").text != "rubato" and c.find("location").get("file") == page.header:
                    blocks += self.writer.description(c)
        if page.group:
            rows = [[f"[`{p.title}`]({p.name}.md)", self.brief(p)] for p in page.group]
            blocks += ["## Classes", table(["class", "what it is"], rows)]
        for name, anchor, members in page.entries:
            if name.endswith("Data members"):
                blocks += [f"## Data members {{ #{anchor} }}"] * (name == "Data members") + [self.variables(members)]
            elif members[0].tag == "compounddef":
                blocks += [f"## `{name}` {{ #{anchor} }}", fence(self.class_declaration(members[0])),
                           *self.writer.description(members[0])]
            else:
                title = name if name == "Constructors" else "`" + name.replace("::Constructors", "") + "`"
                blocks.append(entry(self.writer, title, anchor, members))
        return join(blocks) + "\n"

    def brief(self, page):
        said = self.writer.blocks((page.file if page.compound is None else page.compound).find("briefdescription"))
        return " ".join(said).replace("|", "\\|")

    def index(self):
        main = next(c for c in self.of_kind("page") if c.get("id") == "indexpage")
        namespace = next(c for c in self.of_kind("namespace") if c.find("compoundname").text == "rubato")
        blocks = ["# Reference", *self.writer.description(main), *self.writer.description(namespace), "## Headers"]
        rows = []
        for header, name in self.headers.items():
            page = self.pages[name]
            free = [m for _, m in self.free[header]]
            classes = page.group if page.compound is None else [page]
            names = [f"[`{p.title}`]({p.name}.md)" for p in classes]
            names += [f"[`{n}`]({name}.md#{a})" for n, a, m in page.entries if page.compound is None or m[0] in free]
            rows.append([f"[`{header}`]({name}.md)", self.brief(page), ", ".join(names)])
        return join([*blocks, table(["header", "what it has", "names"], rows)]) + "\n"


def pages(xml, public):
    """{path: text}, {header: its page}, and the tree of the pages for the navigation: [path, [paths of its classes]]."""
    r = Reference(xml, public)
    texts = {f"reference/{p.name}.md": r.write(p) for p in r.pages.values()}
    texts["reference/README.md"] = r.index()
    headers = {f"include/{h}": f"reference/{n}.md" for h, n in r.headers.items()}
    tree = [[f"reference/{n}.md", [f"reference/{p.name}.md" for p in r.pages[n].group]] for n in r.headers.values()]
    return texts, headers, tree
