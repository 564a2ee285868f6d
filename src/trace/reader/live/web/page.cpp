#include "trace/reader/live/web/page.hpp"

namespace rubato::detail {

// Every text from the program is set as text, never as HTML.
std::string_view const live_page = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>rubato live</title>
<meta name="viewport" content="width=device-width">
<style>
:root { color-scheme: light dark; --runs: #2a9d4a; --waits: #c98a00; --searches: #1c8fb0; --sleeps: #8a8f98;
        --steal: #b4479e; --line: #8884; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.2em 1.5em; }
h1 { font-size: 1.1em; display: inline; margin-right: 1em; }
#figures { display: flex; flex-wrap: wrap; gap: .4em 2em; margin: 1em 0; }
#figures b { font-size: 1.5em; font-variant-numeric: tabular-nums; display: block; }
#figures span { color: var(--sleeps); }
#board { display: flex; }
table { border-collapse: collapse; flex: 1; min-width: 0; table-layout: fixed; }
th { text-align: left; font-weight: normal; color: var(--sleeps); }
td, th { height: 26px; padding: 0 .6em; border-bottom: 1px solid var(--line); white-space: nowrap; overflow: hidden;
         text-overflow: ellipsis; box-sizing: border-box; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
td.now { font-family: ui-monospace, monospace; font-size: .92em; }
.dim { color: var(--sleeps); }
svg { display: block; }
#lists { display: flex; flex-wrap: wrap; gap: 0 3em; }
h2 { font-size: 1em; margin: 1.2em 0 .3em; }
ol { list-style: none; margin: 0; padding: 0; font-family: ui-monospace, monospace; font-size: .92em; }
</style></head><body>
<h1>rubato live</h1><span id="about" class="dim">waiting for the program</span>
<div id="figures"></div>
<div id="board"><svg id="arcs" width="70" height="10"></svg>
<table><thead><tr><th style="width:9em">thread</th><th style="width:9em">busy</th><th style="width:4em">CPU</th><th style="width:12em">last 3 s</th>
<th style="width:5em">tasks/s</th><th style="width:5em">steals/s</th><th style="width:5em">wakes/s</th><th>now</th></tr></thead>
<tbody id="threads"></tbody></table></div>
<p class="dim"><span style="color:var(--steal)">&#8594;</span> took work from &nbsp;
<span style="color:var(--waits)">&#8594;</span> waits for what the other runs</p>
<div id="lists"><div><h2>Steals</h2><ol id="steals"></ol></div><div><h2>Coroutines await</h2><ol id="waits"></ol></div></div>
<script>
"use strict";
const SVG = "http://www.w3.org/2000/svg", row = 26;
const at = id => document.getElementById(id);
function element(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}
function shape(name, attributes, ...children) {
  const e = document.createElementNS(SVG, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}
function time(ns) {
  const units = [[1e3, 1, "ns"], [1e6, 1e3, "\u00b5s"], [1e9, 1e6, "ms"], [12e10, 1e9, "s"], [72e11, 6e10, "min"]];
  const [, scale, unit] = units.find(u => ns < u[0]) || [0, 36e11, "h"];
  const n = ns / scale;
  return (n < 10 && scale > 1 ? n.toFixed(1) : Math.round(n)) + " " + unit;
}
const number = n => n < 10 && n % 1 > .05 ? n.toFixed(1) : Math.round(n).toLocaleString("en");
const color = state => "var(--" + state + ")";
function bar(t) {
  return shape("svg", {width: 110, height: 14},
    shape("rect", {width: 110, height: 14, rx: 3, fill: "var(--line)"}),
    shape("rect", {width: 110 * Math.min(1, t.busy), height: 14, rx: 3, fill: color("runs")}));
}
function history(t) {
  return shape("svg", {width: 31 * 5, height: 18}, ...t.history.map((share, i) =>
    shape("rect", {x: i * 5, width: 4, y: 18 - 18 * share, height: 18 * share, fill: color("runs")})));
}
function now(t) {
  const state = element("span", {style: "color:" + color(t.state)}, t.state);
  let what = t.for ? "for " + t.for + (t.what ? " (" + t.what + ")" : "") : t.what;
  if (t.in) what += ", in " + t.in;
  return element("td", {class: "now", title: what}, state, " " + what,
    element("span", {class: "dim"}, " \u00a0" + time(t.since)));
}
// An arrow at the left of the table, from one thread's row to another's.
function arc(from, to, stroke, opacity) {
  const a = row * (from + 1.5), b = row * (to + 1.5), bend = 62 - Math.min(50, 12 + Math.abs(a - b) / 3);
  const path = shape("path", {d: `M66 ${a} C${bend} ${a} ${bend} ${b} 64 ${b}`, fill: "none", stroke, opacity,
                              "stroke-width": 1.5});
  return [path, shape("path", {d: `M66 ${b} l-6 -3 v6 z`, fill: stroke, opacity})];
}
function draw(s) {
  at("about").textContent = s.off ? "the trace is off"
    : `process ${s.process}, ${time(s.at)}` + (s.ended ? ", has ended" : "");
  const more = s.partial ? "+" : "";
  const figures = [["tasks/s", number(s.tasks)], ["steals/s", number(s.steals)], ["wakes/s", number(s.wakes)],
                   ["tasks queued", number(s.queued) + more], ["coroutines suspended", number(s.suspended) + more]];
  at("figures").replaceChildren(...figures.map(([name, n]) => element("span", {}, element("b", {}, n), name)));
  at("threads").replaceChildren(...s.threads.map(t => element("tr", {},
    element("td", {title: "thread " + t.thread}, t.name),
    element("td", {}, bar(t)), element("td", {class: "n"}, t.cpu < 0 ? "-" : Math.round(100 * t.cpu) + "%"),
    element("td", {}, history(t)),
    element("td", {class: "n"}, number(t.tasks)), element("td", {class: "n"}, number(t.steals)),
    element("td", {class: "n"}, number(t.wakes)), now(t))));
  const place = new Map(s.threads.map((t, i) => [t.name, i]));
  const arcs = [];
  for (const t of s.taken)
    if (t.ago < 1e9 && place.has(t.by) && place.has(t.from))
      arcs.push(...arc(place.get(t.from), place.get(t.by), "var(--steal)", Math.max(.1, 1 - t.ago / 1e9)));
  s.threads.forEach((t, i) => {
    if (t.state === "waits" && place.has(t.for)) arcs.push(...arc(i, place.get(t.for), "var(--waits)", 1));
  });
  at("arcs").setAttribute("height", row * (s.threads.length + 1));
  at("arcs").replaceChildren(...arcs);
  at("steals").replaceChildren(...s.taken.slice(0, 8).map(t => element("li", {},
    `${t.by} took from ${t.from}${t.what ? ": " + t.what : ""} `, element("span", {class: "dim"}, time(t.ago) + " ago"))));
  at("waits").replaceChildren(...s.waits.slice(0, 8).map(w => element("li", {},
    `${number(w.number)} \u00d7 ${w.what || "a coroutine"}: ${w.reason} `,
    element("span", {class: "dim"}, "up to " + time(w.longest)))));
}
async function look() {
  let next = 200;
  try {
    const s = await (await fetch("state", {cache: "no-store"})).json();
    draw(s);
    if (s.ended) return;
  } catch (e) {
    at("about").textContent = "the program does not answer; it may have ended";
    next = 2000;
  }
  setTimeout(look, next);
}
look();
</script></body></html>
)page";

} // namespace rubato::detail
