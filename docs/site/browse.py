"""Uses the built site in a browser, from the file system: browse.py SITE

Types a name into the search, clicks its entry in the first result, and is where the name is explained; sets the dark scheme
by a click. Then looks up every public name: the first page that is found must have an entry of that name, in the reference.

Speaks WebDriver with Debian's chromedriver, which drives Chromium. Where these are missing, says so and does nothing.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import names

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that WebDriver prescribes
LIMIT = 30  # seconds for anything that the page does by itself

# What was found, page by page: [heading, link] of the page and of its entries.
RESULTS = """
const meta = document.querySelector(".md-search-result__meta").textContent;
const pages = [...document.querySelectorAll(".md-search-result__item")];
return [meta, pages.map((page) => [...page.querySelectorAll("a.md-search-result__link")].map(
  (a) => [a.querySelector(":is(h1, h2)").textContent, a.href]))];
"""
TYPE = """
const field = document.querySelector(".md-search__input");
document.querySelector(".md-search-result__meta").textContent = "";
field.value = arguments[0];
field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
"""


class Browser:
    def __init__(self, driver, width=1400, height=1000):
        self.process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = next(m[1] for line in self.process.stdout if (m := re.search(r"successfully on port (\d+)", line)))
        self.base = f"http://127.0.0.1:{port}/session"
        options = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}"]
        options += ["--no-sandbox"] * (os.geteuid() == 0)  # Chromium refuses root a sandbox
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": options}}}}
        self.base += "/" + self.call("POST", "", wanted)["sessionId"]

    def call(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=2 * LIMIT) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def element(self, css, place=0):
        return self.call("POST", "/elements", {"using": "css selector", "value": css})[place][ELEMENT]

    def click(self, css, place=0):
        self.call("POST", f"/element/{self.element(css, place)}/click")

    def type(self, css, text):
        self.call("POST", f"/element/{self.element(css)}/value", {"text": text})

    def wait(self, what, condition):
        """The first value of the condition that is not false."""
        end = time.monotonic() + LIMIT
        while not (value := condition()):
            if time.monotonic() > end:
                raise SystemExit(f"browse.py: waited {LIMIT} s: {what}")
            time.sleep(0.02)
        return value

    def results(self, name):
        def found():
            meta, pages = self.run(RESULTS)
            terms = {t for page in pages for _, link in page for t in parse_qs(urlsplit(link).query).get("h", [""])[0].split()}
            # The results for what was typed before stay until these come.
            return pages if name in terms else [[]] if meta.startswith("No matching") else None

        return self.wait(f"the results for {name}", found)

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()


def use(browser, site):
    browser.open((site / "index.html").as_uri())
    assert browser.run("return document.body.dataset.mdColorScheme") == "default"
    browser.click("label[title=Dark]")
    browser.wait("the dark scheme", lambda: browser.run("return document.body.dataset.mdColorScheme") == "slate")

    browser.click(".md-search__input")
    browser.type(".md-search__input", "enqueue_after")
    links = [link for page in browser.results("enqueue_after") for _, link in page]
    place = next(i for i, link in enumerate(links) if link.endswith("#enqueue_after"))
    assert "/reference/pool.html" in links[place] and place < 2, links  # above it is the page that it is on
    browser.click(".md-search-result__list a.md-search-result__link", place)
    browser.wait("the page of the result", lambda: browser.run("return location.href").endswith("#enqueue_after"))
    shown = browser.run("return document.getElementById('enqueue_after').getBoundingClientRect().top")
    assert browser.run("return document.querySelector('h1').firstChild.textContent") == "pool"
    assert 0 <= shown < 1000, f"the entry is at {shown}"


def look_up_all(browser):
    problems = []
    wanted = list(dict.fromkeys(name for _, _, name, is_datum in names.all_names() if not is_datum))
    browser.click(".md-search__input")
    for name in wanted:
        browser.run(TYPE, name)
        first = browser.results(name)[0]
        if not any(name in re.split(r", |::", title) and "/reference/" in link for title, link in first):
            problems.append(f"the search finds for {name} first: {[title for title, _ in first]}")
    return problems, len(wanted)


def main(site):
    driver = shutil.which("chromedriver")
    if not driver:
        print("no chromedriver: the site is not tried in a browser (scripts/setup browser)")
        return 0
    browser = Browser(driver)
    try:
        use(browser, site)
        problems, count = look_up_all(browser)
    finally:
        browser.close()
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"in a browser: {count} names looked up, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
