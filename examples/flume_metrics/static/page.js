// The page: which machine and which range of time, the answers to both, and what is drawn of them.
// The address holds the state, so a view can be sent to somebody: #machine=…&ts=20151111 14
"use strict";

const COUNT = "EventAcceptedCount", SIZE = "ByteAcceptedSize";
const REFRESH_MS = Number(new URLSearchParams(location.search).get("refresh")) || 2000;
const LENGTHS = { day: 8, hour: 11, minute: 14 };
const STEP_MS = { day: 86400e3, hour: 3600e3, minute: 60e3 };

const view = { machine: "", ts: "", live: true, hidden: new Set(), machines: [], asked: 0, waiting: 0 };
const at = (id) => document.getElementById(id);

async function ask(path, params) {
  const answer = await fetch(`${path}?${new URLSearchParams(params)}`);
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

// ---- time: "20151111", "20151111 14", "20151111 14:09"

const scopeOf = (ts) => Object.keys(LENGTHS).find((scope) => LENGTHS[scope] >= ts.length);
const tableOf = (ts) => (scopeOf(ts) === "minute" ? "5s" : "1m");

function toMs(ts) {
  const [, year, month, day, hour = 0, minute = 0, second = 0] =
    ts.match(/^(\d{4})(\d\d)(\d\d)(?: (\d\d)(?::(\d\d)(?::(\d\d))?)?)?$/);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function toTs(ms, length) {
  const iso = new Date(ms).toISOString();
  return (iso.slice(0, 10).replaceAll("-", "") + " " + iso.slice(11, 19)).slice(0, length);
}

// Every time between the first and the last row, so that a silence is a gap and not a slope.
function timesOf(logs, table) {
  const seen = Object.values(logs).flatMap((times) => Object.keys(times)).sort();
  if (!seen.length) return [];
  const [step, length] = table === "5s" ? [5e3, 17] : [60e3, 14];
  const times = [];
  for (let ms = toMs(seen[0]); ms <= toMs(seen.at(-1)); ms += step) times.push(toTs(ms, length));
  return times;
}

// ---- asking

// Answers may come in any order: what an older question brings changes nothing any more.
async function refresh() {
  const number = ++view.asked;
  const isOutrun = () => number !== view.asked;
  view.waiting += 1;
  try {
    const machines = await ask("machines", {});
    if (isOutrun()) return;
    chooseFrom(machines);
    const params = { machine: view.machine, ts: view.ts, table: tableOf(view.ts) };
    const [host, found] = await Promise.all([
      ask("host", params), ask("query", { _client_: "machine_to_logids", ...params }),
    ]);
    if (isOutrun()) return;
    at("problem").hidden = true;
    view.answer = [host, found[view.machine]];
    drawIfNew();
  } catch (problem) {
    if (isOutrun()) return;
    at("problem").textContent = problem.message;
    at("problem").hidden = false;
  } finally {
    view.waiting -= 1;
  }
}

function chooseFrom(machines) {
  const chosen = machines.find((known) => known.machine === view.machine) ?? machines[0];
  if (!chosen) throw new Error("no machine has reported yet");
  view.machines = machines;
  view.machine = chosen.machine;
  if (!view.ts) view.ts = chosen.latest.slice(0, LENGTHS.hour);
  if (view.live) view.ts = chosen.latest.slice(0, view.ts.length);
}

// The clock asks nothing while an answer is awaited: it would outrun every answer that takes longer
// than the interval, and nothing would ever be drawn.
function tick() {
  if (view.live && !view.waiting) refresh();
}

// ---- drawing

// Drawing replaces what can be clicked: not without need, and never between press and release.
function drawIfNew() {
  const picture = JSON.stringify([view.machines, view.ts, view.live, view.answer]);
  if (!view.answer || view.pressed || picture === view.picture) return;
  view.picture = picture;
  draw();
}

function draw() {
  const [host, logs] = view.answer;
  location.replace("#" + new URLSearchParams({ machine: view.machine, ts: view.ts }));
  drawMachines();
  drawRange();
  at("host-name").textContent = host.name;
  at("machine-id").textContent = view.machine;
  drawTiles(host);
  const names = host.logs.map((log) => log.name);
  const color = (name) => COLORS[names.indexOf(name) % COLORS.length];
  drawLogs(host.logs, color);
  drawCharts(logs, names.filter((name) => !view.hidden.has(name)), color);
  document.body.dataset.drawn = `${view.machine} ${view.ts}`;
}

function drawTiles(host) {
  const unit = tableOf(view.ts) === "5s" ? "in 5 seconds" : "in a minute";
  at("tile-count").textContent = host.cCountSum.toLocaleString("en");
  at("tile-size").textContent = short(host.cSizeSum, "B");
  at("tile-logs").textContent = host.cLogSum;
  at("tile-total").textContent = short(host.logs.reduce((sum, log) => sum + log.countSum, 0));
  at("step-count").textContent = at("step-size").textContent = unit;
}

function drawCharts(logs, names, color) {
  const times = timesOf(logs, tableOf(view.ts));
  for (const [place, metric, unit] of [["chart-count", COUNT, ""], ["chart-size", SIZE, "B"]]) {
    const layers = names.map((name) => ({
      name, color: color(name),
      values: times.map((time) => Number(logs[name]?.[time]?.[0]?.[metric] ?? 0)),
    }));
    const zoomable = scopeOf(view.ts) !== "minute";
    drawChart(at(place), { times, layers, unit, zoomable, onPick: zoomTo });
  }
}

function button(text, isCurrent, onClick) {
  const node = document.createElement("button");
  node.textContent = text;
  node.setAttribute("aria-current", isCurrent);
  node.addEventListener("click", onClick);
  return node;
}

function drawMachines() {
  at("machines").replaceChildren(...view.machines.map((known) => {
    const node = button(known.name, known.machine === view.machine, () => show({ machine: known.machine }));
    node.dataset.machine = known.machine;
    const latest = document.createElement("small");
    latest.textContent = known.latest;
    node.append(latest);
    return node;
  }));
}

// Day › hour › minute: the parts of the range, each a way back out.
function drawRange() {
  const labels = { day: (ts) => `${ts.slice(0, 4)}-${ts.slice(4, 6)}-${ts.slice(6)}`,
    hour: (ts) => `${ts.slice(9)} h`, minute: (ts) => ts.slice(9) };
  const parts = Object.keys(LENGTHS).filter((scope) => LENGTHS[scope] <= view.ts.length);
  at("range").replaceChildren(...parts.map((scope) => {
    const ts = view.ts.slice(0, LENGTHS[scope]);
    const node = button(labels[scope](ts), ts === view.ts, () => show({ ts }));
    node.dataset.scope = scope;
    return node;
  }));
  at("live").setAttribute("aria-pressed", view.live);
}

function cell(text, kind) {
  const node = document.createElement("td");
  node.textContent = text;
  if (kind) node.className = kind;
  return node;
}

function drawLogs(logs, color) {
  at("logs").replaceChildren(...logs.map((log) => {
    const row = document.createElement("tr");
    const name = cell(log.name);
    const dot = Object.assign(document.createElement("span"), { className: "dot" });
    dot.style.background = color(log.name);
    name.prepend(dot);
    row.append(name, cell(log.cCount.toLocaleString("en"), "n"), cell(short(log.cSize, "B"), "n"),
      cell(log.countSum.toLocaleString("en"), "n"), cell(short(log.sizeSum, "B"), "n"),
      cell(log.startTime.slice(9)), cell(log.endTime.slice(9)));
    row.dataset.log = log.name;
    row.tabIndex = 0;
    row.setAttribute("role", "button");
    row.setAttribute("aria-pressed", !view.hidden.has(log.name));
    const toggle = () => { toggleLog(log.name); };
    row.addEventListener("click", toggle);
    row.addEventListener("keydown", (event) => { if (event.key === "Enter") toggle(); });
    return row;
  }));
}

// ---- what people do

function show(change) {
  Object.assign(view, change);
  refresh();
}

function toggleLog(name) {
  if (!view.hidden.delete(name)) view.hidden.add(name);
  draw();
}

// One scope in: from the day to the hour of the time that was clicked, from the hour to the minute.
function zoomTo(time) {
  const inner = scopeOf(view.ts) === "day" ? LENGTHS.hour : LENGTHS.minute;
  show({ ts: time.slice(0, inner), live: false });
}

function step(direction) {
  const scope = scopeOf(view.ts);
  show({ ts: toTs(toMs(view.ts) + direction * STEP_MS[scope], LENGTHS[scope]), live: false });
}

// An answer that came between press and release is drawn now, once the click has been handled.
function release() {
  view.pressed = false;
  setTimeout(() => { if (!view.waiting) drawIfNew(); });
}

function start() {
  const given = new URLSearchParams(location.hash.slice(1));
  view.machine = given.get("machine") ?? "";
  const ts = given.get("ts") ?? "";
  view.ts = Object.values(LENGTHS).includes(ts.length) ? ts : "";
  view.live = !view.ts;
  at("earlier").addEventListener("click", () => step(-1));
  at("later").addEventListener("click", () => step(1));
  at("live").addEventListener("click", () => show({ live: !view.live }));
  addEventListener("pointerdown", () => { view.pressed = true; });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, release);
  addEventListener("resize", () => { if (view.answer) draw(); });
  setInterval(tick, REFRESH_MS);
  refresh();
}

start();
