"use strict";
// Lines and areas as SVG, drawn anew whenever there are new samples.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LEFT = 52, RIGHT = 8, TOP = 8, BOTTOM = 20;

  const make = (name, attributes, parent) => {
    const node = document.createElementNS(SVG, name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (parent) parent.append(node);
    return node;
  };

  const scaled = (value, units, step) => {
    let at = 0;
    while (Math.abs(value) >= step && at < units.length - 1) { value /= step; at++; }
    const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
    return String(Number(value.toFixed(digits))) + units[at];
  };
  const FORMATS = {
    "bytes": (v) => scaled(v, [" B", " KB", " MB", " GB", " TB"], 1024),
    "bytes/s": (v) => scaled(v, [" B/s", " KB/s", " MB/s", " GB/s"], 1024),
    "ms": (v) => v >= 1000 ? `${(v / 1000).toFixed(1)} s` : v >= 1 || v === 0 ? `${Number(v.toFixed(1))} ms` : `${Number((v * 1000).toFixed(0))} µs`,
    "%": (v) => `${Number(v.toFixed(1))} %`,
    "s": (v) => `${Number(v.toFixed(1))} s`,
    "rate": (v) => scaled(v, ["", "k", "M"], 1000),
    "count": (v) => scaled(v, ["", "k", "M", "G"], 1000),
  };

  const niceTop = (value, unit) => {
    if (!(value > 0)) return 1;
    const base = unit.startsWith("bytes") ? 1024 : 10;
    const power = Math.pow(base, Math.floor(Math.log(value) / Math.log(base)));
    for (const step of base === 10 ? [1, 1.5, 2, 3, 4, 5, 6, 8, 10] : [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]) {
      if (step * power >= value) return step * power;
    }
    return value;
  };

  const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  const shortClock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.unit = figure.dataset.unit;
      this.format = FORMATS[this.unit];
      this.names = figure.dataset.series.split(",");
      this.labels = figure.dataset.labels.split(",");
      this.stacked = "stacked" in figure.dataset;
      this.optional = "optional" in figure.dataset;
      this.output = figure.querySelector("output");
      this.svg = make("svg", { "aria-hidden": "true" }, figure);
      this.legend = document.createElement("div");
      this.legend.className = "legend";
      figure.append(this.legend);
      this.at = null;
      this.svg.addEventListener("pointermove", (event) => this.point(event));
      this.svg.addEventListener("pointerleave", () => { this.at = null; this.draw(); });
      figure.addEventListener("keydown", (event) => this.key(event));
      figure.addEventListener("blur", () => { this.at = null; this.draw(); });
    }

    set(data, span) {
      this.t = data.t;
      this.span = span;
      this.rows = this.names.map((name, at) => ({ label: this.labels[at], at, values: data.series[name] }))
        .filter((row) => row.values && (!this.stacked || row.values.some((v) => v > 0)));
      if (this.optional) this.figure.hidden = !this.rows.some((row) => row.values.some((v) => v !== null));
      this.draw();
    }

    point(event) {
      if (!this.t || !this.t.length) return;
      const box = this.svg.getBoundingClientRect();
      const when = this.from + (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT) * this.shown;
      let best = 0;
      this.t.forEach((t, at) => { if (Math.abs(t - when) < Math.abs(this.t[best] - when)) best = at; });
      this.at = best;
      this.draw();
    }

    key(event) {
      const last = (this.t || []).length - 1, now = this.at === null ? last : this.at;
      const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
      if (to === undefined || last < 0) return;
      event.preventDefault();
      this.at = Math.max(0, Math.min(last, to));
      this.draw();
    }

    draw() {
      if (!this.t) return;
      const box = this.svg.getBoundingClientRect(), width = Math.max(box.width, 120), height = Math.max(box.height, 60);
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      this.svg.replaceChildren();
      const until = this.t.length ? this.t[this.t.length - 1] : Date.now() / 1000;
      // At first the chart is as long as what was seen, or a minute.
      const shown = this.shown = Math.min(this.span, Math.max(60, until - (this.t[0] ?? until)));
      this.from = until - shown;
      const x = (t) => LEFT + (t - this.from) / shown * (width - LEFT - RIGHT);
      const tops = this.t.map((_, at) => this.stacked
        ? this.rows.reduce((sum, row) => sum + (row.values[at] || 0), 0)
        : Math.max(0, ...this.rows.map((row) => row.values[at] || 0)));
      const top = niceTop(Math.max(0, ...tops), this.unit);
      const y = (v) => height - BOTTOM - v / top * (height - TOP - BOTTOM);
      this.axes(width, height, top, x, y);
      if (!this.rows.length || this.t.length < 2) {
        make("text", { class: "none", x: width / 2, y: height / 2 }, this.svg).textContent = this.t.length < 2 ? "collecting…" : "nothing yet";
      } else if (this.stacked) this.stack(x, y);
      else this.rows.forEach((row) => this.curve(row, x, y));
      if (this.at !== null && this.t[this.at] !== undefined) {
        const hand = x(this.t[this.at]);
        make("line", { class: "hand", x1: hand, x2: hand, y1: TOP, y2: height - BOTTOM }, this.svg);
      }
      this.tell();
      this.figure.dataset.points = this.t.length;
    }

    axes(width, height, top, x, y) {
      for (const share of [0, 0.5, 1]) {
        make("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(top * share), y2: y(top * share) }, this.svg);
        make("text", { x: LEFT - 6, y: y(top * share) + 3.5, "text-anchor": "end" }, this.svg).textContent = this.format(top * share);
      }
      const ticks = width > 600 ? 6 : 3;
      // So that no two of them read the same.
      const label = this.shown / ticks < 60 ? clock : shortClock;
      for (let at = 0; at <= ticks; at++) {
        const t = this.from + this.shown * at / ticks;
        make("text", { x: x(t), y: height - 5, "text-anchor": at === 0 ? "start" : at === ticks ? "end" : "middle" }, this.svg).textContent = label(t);
      }
    }

    curve(row, x, y) {
      // A gap in the samples is a gap in the line.
      const runs = [];
      let run = null;
      this.t.forEach((t, at) => {
        const v = row.values[at];
        if (v === null || v === undefined || t < this.from) { run = null; return; }
        if (!run) runs.push(run = []);
        run.push([x(t), y(v)]);
      });
      const group = make("g", { class: `c${row.at}` }, this.svg);
      for (const points of runs) {
        const line = points.map((p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join("L");
        if (row === this.rows[0] && points.length > 1) {
          make("path", { class: "area", d: `M${line}L${points[points.length - 1][0].toFixed(1)},${y(0)}L${points[0][0].toFixed(1)},${y(0)}Z` }, group);
        }
        make("path", { class: "curve", d: points.length > 1 ? `M${line}` : `M${line}h1` }, group);
      }
    }

    stack(x, y) {
      const base = this.t.map(() => 0);
      for (const row of this.rows) {
        const under = this.t.map((t, at) => [x(t), y(base[at])]);
        const over = this.t.map((t, at) => [x(t), y(base[at] += row.values[at] || 0)]);
        const shape = over.concat(under.reverse()).map((p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join("L");
        make("path", { class: `stack c${row.at}`, d: `M${shape}Z` }, this.svg);
      }
    }

    tell() {
      const at = this.at === null ? this.t.length - 1 : this.at;
      this.legend.replaceChildren(...this.rows.map((row) => {
        const entry = document.createElement("span"), dot = document.createElement("i"), value = document.createElement("b");
        dot.className = `c${row.at}`;
        const v = row.values[at];
        value.textContent = v === null || v === undefined ? "–" : this.format(v);
        entry.append(dot, row.label + " ", value);
        return entry;
      }));
      this.output.textContent = this.at !== null && this.t.length ? clock(this.t[at]) : "";
    }
  }

  const SPANS = { "10m": 600, "2h": 7200, "1d": 86400 };
  const holder = document.getElementById("charts");
  if (!holder) return;
  const charts = [...holder.querySelectorAll("figure")].map((figure) => new Chart(figure));
  const range = holder.dataset.range, span = SPANS[range];
  const kept = { t: [], series: {} };

  const add = (fresh) => {
    const before = kept.t.length;
    kept.t.push(...fresh.t);
    for (const name of new Set([...Object.keys(kept.series), ...Object.keys(fresh.series)])) {
      const old = kept.series[name] || new Array(before).fill(null);
      kept.series[name] = old.concat(fresh.series[name] || new Array(fresh.t.length).fill(null));
    }
    const limit = kept.t.length ? kept.t[kept.t.length - 1] - span : 0;
    const drop = kept.t.findIndex((t) => t >= limit);
    if (drop > 0) {
      kept.t.splice(0, drop);
      for (const name in kept.series) kept.series[name].splice(0, drop);
    }
  };

  const showTiles = (tiles) => {
    document.getElementById("tiles").replaceChildren(...tiles.map((tile) => {
      const box = document.createElement("div"), name = document.createElement("span"), value = document.createElement("b"), more = document.createElement("span");
      box.className = tile.bad ? "tile bad" : "tile";
      name.textContent = tile.name; value.textContent = tile.value; more.textContent = tile.more; more.title = tile.more;
      box.append(name, value, more);
      return box;
    }));
  };

  const problem = document.getElementById("problem");
  const show = (text) => { problem.hidden = !text; problem.textContent = text; };
  const INTERVAL = 2000;

  const look = async () => {
    try {
      const after = kept.t.length ? kept.t[kept.t.length - 1] : 0;
      const answer = await fetch(`/api/overview?range=${range}&after=${after}`);
      if (answer.status === 401) { location.reload(); return; }
      const data = await answer.json();
      if (!answer.ok) show(`${data.title}: ${data.problem}`);
      else {
        add(data);
        for (const chart of charts) chart.set(kept, span);
        showTiles(data.tiles);
        // Made by the server out of numbers alone.
        const levels = new DOMParser().parseFromString(data.levels, "text/html").body;
        document.getElementById("levels").replaceChildren(...levels.childNodes);
        show(data.problem ? `No new samples: ${data.problem}` : "");
      }
    } catch (failure) {
      show("The console does not answer.");
    }
    setTimeout(look, document.hidden ? 5 * INTERVAL : INTERVAL);
  };
  addEventListener("resize", () => charts.forEach((chart) => chart.draw()));
  look();
})();
