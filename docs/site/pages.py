"""Lays out the pages of the site in a folder, as plain Markdown: pages.py XML PAGES

The pages are those of the tree, at the same places, so that their links to each other hold. A link to anything else of
the tree leads to a page that is made here: a header's page of the reference, or a source file as a page. Nothing in them
is for one generator: mkdocs.yml is all that knows MkDocs, and its `nav` with folders filled in is written beside PAGES.
"""

import html
import json
import os
import re
import shutil
import sys
from pathlib import Path

import yaml

import adapter_reference
import c_reference
import names
import reference

ROOT = names.ROOT
CONFIG = Path(__file__).resolve().parent / "mkdocs.yml"
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".h": "c", ".py": "python", ".pyi": "python"}
PICTURES = {".svg", ".png"}
# Fenced blocks and code stay as they are; links are found in what is left.
LINK = re.compile(r"(^```.*?^```|`[^`\n]+`)|\]\(([^()\s#]+)((?:#[^()\s]*)?)\)", re.M | re.S)


def markdown_files():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("build", "target", "node_modules"))
        for file in sorted(files):
            if file.endswith(".md"):
                yield Path(folder, file).relative_to(ROOT).as_posix()


class Pages:
    def __init__(self, out):
        self.out = out
        self.written = {}
        self.sources = set()
        self.pictures = set()

    def write(self, path, text):
        self.written[path] = text
        (self.out / path).parent.mkdir(parents=True, exist_ok=True)
        (self.out / path).write_text(text)

    def linked(self, path, text, headers):
        """The text of a page of the tree, with the links that leave the pages changed."""
        folder = os.path.dirname(path)

        def changed(m):
            code, to, at = m.groups()
            if code or re.match(r"[a-z]+:", to):
                return m[0]
            target = os.path.normpath(os.path.join(folder, to))
            if not (ROOT / target).exists():
                raise SystemExit(f"{path}: the link to {to} leads nowhere")
            if target.endswith(".md"):
                return m[0]
            if Path(target).suffix in PICTURES:
                self.pictures.add(target)
                return m[0]
            if target in headers:
                target = headers[target]
            elif target in ("include/rubato", "include/rubato/algorithm"):
                target = "reference/README.md"
            elif (ROOT / target / "README.md").exists():
                target += "/README.md"
            else:
                self.sources.add(target)
                target = f"source/{target}.md"
            return f"]({os.path.relpath(target, folder)}{at if at.startswith('#') else ''})"

        return plain_markdown(LINK.sub(changed, text))

    def write_sources(self, pages_of):
        """A page for each source file that a page names, and for each file of a folder that one names."""
        files = {}  # file -> its folder in the index
        for source in sorted(self.sources):
            if (ROOT / source).is_dir():
                for f in sorted((ROOT / source).rglob("*")):
                    if f.is_file() and "__pycache__" not in f.parts and is_text(f):
                        files[f.relative_to(ROOT).as_posix()] = source
        for source in self.sources:
            if (ROOT / source).is_file():
                files.setdefault(source, os.path.dirname(source))
        folders = {}
        for file, folder in sorted(files.items(), key=lambda pair: (pair[1], pair[0])):
            folders.setdefault(folder, []).append(file)
            text = (ROOT / file).read_text()
            fence = "`" * max(3, *(len(m) + 1 for m in re.findall(r"`+", text) or [""]))
            language = LANGUAGES.get(Path(file).suffix, "cmake" if file.endswith("CMakeLists.txt") else "text")
            known = f"Its [page of the reference](../{'../' * file.count('/')}{pages_of[file]}) has the names.\n\n" if file in pages_of else ""
            self.write(f"source/{file}.md", f"{UNSEARCHED}# {file}\n\n{known}{fence}{language}\n{text.rstrip()}\n{fence}\n")
        index = ["# Source files", "The files that pages of this site name."]
        for folder, members in sorted(folders.items()):
            lines = [f"- [{f}]({f}.md)" for f in members]
            title = f"[{folder}]({folder}.md)" if folder in self.sources else folder or "The project"
            index += [f"## {title}", "\n".join(lines)]
            if folder in self.sources:
                here = [f"- [{f.removeprefix(folder + '/')}]({os.path.relpath(f, os.path.dirname(folder))}.md)" for f in members]
                self.write(f"source/{folder}.md", f"{UNSEARCHED}# {folder}\n\n" + "\n".join(here) + "\n")
        self.write("source/README.md", UNSEARCHED + "\n\n".join(index) + "\n")

    def title(self, path):
        return re.search(r"^# (.*?)(?: \{ #.*)?$", self.written[path], re.M)[1].replace("`", "")


def plain_markdown(text):
    """What the repository's host reads and other readers of Markdown do not: a list right behind a paragraph, `\\|` in code."""
    out, fenced, before = [], False, ""
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        if not fenced:
            if re.match(r"(- |1\. )", line) and re.match(r"(?!- |\d+\. )\S", before):
                out.append("")
            if line.startswith("|"):
                line = re.sub(r"`([^`]*\\\|[^`]*)`",
                              lambda m: "<code>" + html.escape(m[1].replace("\\|", "|")).replace("|", "&#124;") + "</code>", line)
        out.append(line)
        before = line
    return "\n".join(out)


# MkDocs and other generators read what stands at the head of a page; the search of this site obeys it.
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
FIRST_FOUND = "---\nsearch:\n  boost: 8\n---\n\n"  # the entry of a name comes before guides whose headings have the word


def is_text(path):
    return b"\0" not in path.read_bytes()[:4096]


def filled(nav, pages, tree):
    """The `nav` of mkdocs.yml. An entry that ends with `/` stands for the pages of that folder."""
    out = []
    for entry in nav:
        if isinstance(entry, dict):
            (title, to), = entry.items()
            if isinstance(to, list):
                out.append({title: filled(to, pages, tree)})
            elif to.endswith("/"):
                out.append({title: in_folder(to, pages, tree)})
            else:
                out.append({title: to})
        elif entry.endswith("/"):
            out += in_folder(entry, pages, tree)
        else:
            out.append(entry)
    return out


def in_folder(folder, pages, tree):
    first = [folder + "README.md"] if folder + "README.md" in pages.written else []
    if folder == "reference/":
        entries = [{pages.title(p): [{"Overview": p}, *({pages.title(c): c} for c in classes)]} if classes else {pages.title(p): p}
                   for p, classes in tree]
        return first + entries
    return first + sorted(p for p in pages.written if p.rpartition("/")[0] + "/" == folder and not p.endswith("/README.md"))


class AnyTag(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags are for MkDocs alone."""


AnyTag.add_multi_constructor("", lambda loader, suffix, node: None)


def main(xml, out):
    shutil.rmtree(out, ignore_errors=True)
    pages = Pages(out)
    public = {name for _, of, name, _ in names.all_names() if not of}
    texts, headers, tree = reference.pages(xml, public)
    c_pages = c_reference.pages(names.c_headers())
    tree.append(["reference/c.md", [p for p in c_pages if p != "reference/c.md"]])
    a_pages = {f"reference/adapter-{h.name}.md": adapter_reference.page(ROOT, h) for h in names.adapter_headers()}
    tree += [[p, []] for p in a_pages]
    headers |= {h.relative_to(ROOT).as_posix(): f"reference/adapter-{h.name}.md" for h in names.adapter_headers()}
    adapters = [f"- [`rubato/{h.name}`](adapter-{h.name}.md)" for h in names.adapter_headers()]
    texts["reference/README.md"] += "\n## Adapters\n\n" + "\n".join(adapters) + "\n\n#" + c_pages["reference/c.md"]
    headers |= {f"include/rubato/c/{h.name}": f"reference/c-{h.name}.md" for h in names.c_headers()}
    for path in markdown_files():
        pages.write(path, pages.linked(path, (ROOT / path).read_text(), headers))
    for path, text in {**texts, **c_pages, **a_pages}.items():
        pages.write(path, FIRST_FOUND + text)
    pages.sources |= set(headers)
    pages.write_sources(headers)
    for picture in pages.pictures:
        (out / picture).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / picture, out / picture)
    shutil.copytree(CONFIG.parent / "assets", out / "assets")
    nav = filled(yaml.load(CONFIG.read_text(), AnyTag)["nav"], pages, tree)
    config = {"INHERIT": os.path.relpath(CONFIG, out.parent), "docs_dir": out.name, "site_dir": "site", "nav": nav}
    (out.parent / "mkdocs.yml").write_text(json.dumps(config, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
