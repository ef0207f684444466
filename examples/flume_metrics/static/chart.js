// A stacked area chart in plain SVG. One function: drawChart(place, data).
"use strict";

const COLORS = ["#4c6ef5", "#12b886", "#fab005", "#f76707", "#be4bdb", "#15aabf", "#e64980", "#82c91e"];
const WIDTH = 1000, HEIGHT = 190, LEFT = 58, BOTTOM = 22, TOP = 8;

function short(number, base = "") {
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (number >= size) {
      const scaled = number / size;
      return (scaled >= 100 ? scaled.toFixed(0) : scaled.toFixed(1).replace(/\.0$/, "")) + " " + unit + base;
    }
  }
  return `${Math.round(number)} ${base}`.trimEnd();
}

// The next of 1, 2, 2.5, 5 times a power of ten: axis marks that people can read.
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  return [1, 2, 2.5, 5, 10].map((one) => one * power).find((step) => step >= rough);
}

function svg(name, attributes, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// The number of a row within its day: labels stand at round times.
function slotOf(time) {
  const [hour, minute, second] = time.slice(9).split(":").map(Number);
  return second === undefined ? hour * 60 + minute : hour * 720 + minute * 12 + second / 5;
}

// The layers' upper edges, one array per layer: each stands on the one below.
function stack(layers, length) {
  const edges = [];
  let below = new Array(length).fill(0);
  for (const layer of layers) {
    below = below.map((height, place) => height + layer.values[place]);
    edges.push(below);
  }
  return edges;
}

// data: {times: [text], layers: [{name, color, values}], unit, zoomable, onPick(time)}
function drawChart(place, data) {
  const width = place.clientWidth || WIDTH;
  const root = svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
  place.replaceChildren(root);
  if (!data.times.length || !data.layers.length) {
    root.append(svg("text", { x: width / 2, y: HEIGHT / 2, class: "none" }, "nothing to show here"));
    return;
  }
  const edges = stack(data.layers, data.times.length);
  const step = niceStep(Math.max(...edges.at(-1), 1) / 4);
  const top = step * Math.ceil(Math.max(...edges.at(-1), 1) / step);
  const x = (index) => LEFT + (width - LEFT - 6) * (data.times.length > 1 ? index / (data.times.length - 1) : 0.5);
  const y = (value) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value / top);
  drawAxes(root, data.times, { x, y, step, top, width, unit: data.unit });
  drawLayers(root, data.layers, edges, { x, y });
  followMouse(root, data, { x, width });
}

function drawAxes(root, times, { x, y, step, top, width, unit }) {
  for (let mark = 0; mark <= top + step / 2; mark += step) {
    root.append(svg("line", { x1: LEFT, x2: width - 6, y1: y(mark), y2: y(mark), class: "grid" }));
    root.append(svg("text", { x: LEFT - 8, y: y(mark) + 4, "text-anchor": "end" }, short(mark, unit)));
  }
  const wanted = times.length / Math.max(2, Math.floor(width / 110));
  const every = [1, 2, 3, 6, 10, 15, 30, 60, 120, 240].find((count) => count >= wanted) ?? 480;
  times.forEach((time, index) => {
    if (slotOf(time) % every) return;
    const anchor = x(index) > width - 30 ? "end" : "middle";
    root.append(svg("text", { x: x(index), y: HEIGHT - 5, "text-anchor": anchor }, time.slice(9)));
  });
}

function drawLayers(root, layers, edges, { x, y }) {
  layers.forEach((layer, number) => {
    const upper = edges[number].map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
    const below = number ? edges[number - 1] : edges[number].map(() => 0);
    const lower = below.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).reverse();
    root.append(svg("polygon", {
      points: [...upper, ...lower].join(" "), fill: layer.color, "fill-opacity": 0.28, "data-log": layer.name,
    }));
    root.append(svg("polyline", {
      points: upper.join(" "), fill: "none", stroke: layer.color, "stroke-width": 1.6, "stroke-linejoin": "round",
    }));
  });
}

function followMouse(root, data, { x, width }) {
  const tip = document.getElementById("tip");
  const cursor = svg("line", { y1: TOP, y2: HEIGHT - BOTTOM, class: "cursor", visibility: "hidden" });
  const area = svg("rect", {
    x: LEFT, y: 0, width: width - LEFT, height: HEIGHT, fill: "transparent", class: data.zoomable ? "zoomable" : "",
  });
  const nearest = (event) => {
    const inside = event.clientX - root.getBoundingClientRect().left - LEFT;
    const share = Math.min(1, Math.max(0, inside / (width - LEFT - 6)));
    return Math.round(share * (data.times.length - 1));
  };
  area.addEventListener("mousemove", (event) => {
    const index = nearest(event);
    cursor.setAttribute("x1", x(index));
    cursor.setAttribute("x2", x(index));
    cursor.setAttribute("visibility", "visible");
    showTip(tip, event, data, index);
  });
  area.addEventListener("mouseleave", () => {
    cursor.setAttribute("visibility", "hidden");
    tip.hidden = true;
  });
  if (data.zoomable) area.addEventListener("click", (event) => data.onPick(data.times[nearest(event)]));
  root.append(cursor, area);
}

function showTip(tip, event, data, index) {
  const title = document.createElement("strong");
  title.textContent = data.times[index].slice(9);
  const lines = [...data.layers].reverse().map((layer) => {
    const line = document.createElement("div");
    const dot = Object.assign(document.createElement("span"), { className: "dot" });
    dot.style.background = layer.color;
    const value = document.createElement("b");
    value.textContent = layer.values[index].toLocaleString("en");
    line.append(dot, layer.name, value);
    return line;
  });
  tip.replaceChildren(title, ...lines);
  tip.hidden = false;
  const left = Math.min(event.clientX + 16, innerWidth - tip.offsetWidth - 8);
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 8)}px`;
}
