"""Checks the built site: check.py SITE

- Every page is at most two clicks from the front page: links of the text, the tabs, and the entries that the navigation
  shows without being opened.
- The search knows every public name of the headers, and its entry leads to the reference.
- Nothing is loaded from another host, and no path of the machine that built it is told.
"""

import html
import json
import os
import re
import sys
from collections import defaultdict
from html.parser import HTMLParser
from pathlib import Path

import names

CLICKS = 2
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Links(HTMLParser):
    """Where the links of a page lead that a reader sees at once."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.loaded = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        seen = tag == "article" or "md-tabs" in a.get("class", "").split() or "md-nav--primary" in a.get("class", "").split()
        if tag not in VOID:
            self.open.append((tag, seen))
        if tag == "a" and any(s for _, s in self.open) and a.get("href"):
            self.found.append(a["href"])
        if tag in ("script", "img", "iframe") and a.get("src") or tag == "link" and a.get("rel") != "canonical":
            self.loaded.append(a.get("src") or a.get("href"))

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass


def pages_of(site):
    return {p.relative_to(site).as_posix(): Links(p.read_text()) for p in sorted(site.rglob("*.html")) if p.name != "404.html"}


def far(pages):
    """The pages beyond two clicks."""
    reached, edge = {"index.html"}, {"index.html"}
    for _ in range(CLICKS):
        to = {os.path.normpath(os.path.join(os.path.dirname(page), link.partition("#")[0]))
              for page in edge for link in pages[page].found if not re.match(r"[a-z]+:|#", link)}
        edge = {p for p in to if p in pages} - reached
        reached |= edge
    return [f"more than {CLICKS} clicks away: {page}" for page in pages if page not in reached]


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def unfound(site):
    """The names for which the index has no entry in the reference."""
    entries = defaultdict(list)  # page of the reference -> the titles of its entries
    title_of, text_of = {}, defaultdict(str)
    for doc in json.loads((site / "search/search_index.json").read_text())["docs"]:
        page, _, at = doc["location"].partition("#")
        if page.startswith("reference/"):
            title = plain(doc["title"])
            entries[page] += re.split(r", |::", title)
            if not at:
                title_of[page] = title.rpartition("::")[2]
            text_of[page] += " " + plain(doc["text"].replace("<", " <"))
    problems = []
    public = names.all_names()
    for header, of, name, is_datum in public:
        pages = [p for p in entries if not of or title_of[p] == of or of in entries[p]]
        if not any(name in entries[p] or is_datum and re.search(rf"\b{name}\b", text_of[p]) for p in pages):
            problems.append(f"the search does not find: {of}{'::' if of else ''}{name} of {header.relative_to(names.ROOT)}")
    return problems, len(public)


def foreign(site, pages):
    here = str(names.ROOT)
    problems = [f"loads from another host: {page}: {to}" for page, links in pages.items() for to in links.loaded
                if re.match(r"(https?:)?//", to or "")]
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".js", ".json", ".css", ".xml", ".svg") and here in path.read_text(errors="replace"):
            problems.append(f"tells where it was built: {path.relative_to(site)}")
    return problems


def main(site):
    pages = pages_of(site)
    missing, count = unfound(site)
    problems = far(pages) + missing + foreign(site, pages)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(pages)} pages, at most {CLICKS} clicks away; {count} names, which the search finds" if not problems else
          f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
