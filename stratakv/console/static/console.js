"use strict";
// What makes the pages more pleasant; all but the charts, the tail and the prompt work without.
(() => {
  // A server that is away is asked again by itself; what is under way is looked at again.
  const retry = document.querySelector("[data-retry]");
  if (retry) setTimeout(() => location.reload(), 1000 * Number(retry.dataset.retry));
  const busy = document.querySelector("[data-refresh]");
  if (busy) setTimeout(() => location.reload(), 1000 * Number(busy.dataset.refresh));

  // Digits lead to the pages, / to the first field; in fields they are typed as ever.
  const pages = [...document.querySelectorAll(".bar nav a")];
  // Where there is no room for all of them, the one that is shown is seen.
  const here = pages.find((page) => page.hasAttribute("aria-current"));
  if (here) here.scrollIntoView({ block: "nearest", inline: "center" });
  addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      const field = document.querySelector("main input:not([type=hidden]), main textarea");
      if (field) { event.preventDefault(); field.focus(); }
    } else if (/^[1-9]$/.test(event.key) && pages[event.key - 1]) pages[event.key - 1].click();
  });
})();

// The tail of a channel.
(() => {
  const list = document.getElementById("tail");
  if (!list) return;
  const KEPT = 200, state = document.getElementById("tail-state");
  const source = new EventSource(list.dataset.source);
  let count = 0;
  source.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.kind === "refused") { source.close(); state.textContent = message.text; return; }
    if (message.kind === "message") {
      count++;
      const item = document.createElement("li");
      for (const [name, text] of [["time", message.time], ["b", message.channel], ["code", message.text]]) {
        const part = document.createElement(name);
        part.textContent = text;
        item.append(part);
      }
      list.prepend(item);
      while (list.children.length > KEPT) list.lastChild.remove();
    }
    state.textContent = `listening: ${count} messages` + (message.lost ? `, ${message.lost} left out` : "");
  };
  source.onerror = () => { state.textContent = "the connection was lost; trying again…"; };
})();

// The prompt: completion, help and history.
(() => {
  const form = document.getElementById("prompt");
  if (!form) return;
  const line = document.getElementById("line"), output = document.getElementById("output");
  const offers = document.getElementById("offers"), help = document.getElementById("help");
  let commands = [], history = [], at = 0, chosen = -1, asked = "";

  fetch("/api/commands").then((answer) => answer.json()).then((told) => {
    commands = told.commands || [];
    history = told.history || [];
    at = history.length;
    form.dataset.ready = "yes";
  });

  const named = () => {
    const words = line.value.trimStart().toUpperCase().split(/\s+/);
    return [words.slice(0, 2).join(" "), words[0]].find((name) => commands.includes(name)) || "";
  };
  const offered = () => {
    const typed = line.value.trimStart().toUpperCase();
    return typed ? commands.filter((name) => name.startsWith(typed) && name !== typed).slice(0, 24) : [];
  };
  const showOffers = () => {
    const names = offered();
    chosen = Math.min(chosen, names.length - 1);
    offers.replaceChildren(...names.map((name, number) => {
      const item = document.createElement("li");
      item.textContent = name;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(number === chosen));
      item.addEventListener("click", () => { take(name); line.focus(); });
      return item;
    }));
    offers.hidden = !names.length;
    line.setAttribute("aria-expanded", String(!!names.length));
    showHelp(named());
  };
  const take = (name) => { line.value = name + " "; chosen = -1; showOffers(); };
  const showHelp = async (name) => {
    if (name === asked) return;
    asked = name;
    if (!name) { help.replaceChildren(); return; }
    const told = await (await fetch(`/api/docs?name=${encodeURIComponent(name)}`)).json();
    if (asked !== name) return;
    const syntax = document.createElement("code"), summary = document.createElement("span");
    syntax.textContent = `${name} ${told.syntax || ""}`;
    summary.textContent = told.summary || "";
    help.replaceChildren(syntax, summary);
  };

  line.addEventListener("input", () => { chosen = -1; showOffers(); });
  line.addEventListener("keydown", (event) => {
    const names = offered();
    if (event.key === "Tab" && names.length && !event.shiftKey) {
      event.preventDefault();
      if (names.length === 1) take(names[0]);
      else { chosen = (chosen + 1) % names.length; showOffers(); }
    } else if (event.key === "Enter" && chosen >= 0) {
      event.preventDefault();
      take(names[chosen]);
    } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const to = at + (event.key === "ArrowUp" ? -1 : 1);
      if (to < 0 || to > history.length) return;
      event.preventDefault();
      at = to;
      line.value = history[at] || "";
      chosen = -1;
      showOffers();
    } else if (event.key === "Escape") { chosen = -1; offers.hidden = true; }
  });

  const write = (text, kind) => {
    const part = document.createElement("pre");
    part.textContent = text;
    part.className = kind;
    output.append(part);
    while (output.children.length > 200) output.firstChild.remove();
    output.scrollTop = output.scrollHeight;
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const typed = line.value.trim();
    if (!typed) return;
    if (typed.toLowerCase() === "clear") { output.replaceChildren(); line.value = ""; return; }
    history.push(typed);
    at = history.length;
    const body = new URLSearchParams({ line: typed, db: form.elements.db.value });
    line.value = "";
    showOffers();
    write(`› ${typed}`, "asked");
    try {
      const answer = await fetch("/api/prompt", { method: "POST", body, headers: { "X-Token": document.body.dataset.token } });
      if (answer.status === 401) { location.reload(); return; }
      const told = await answer.json();
      if (!answer.ok) write(`${told.title}: ${told.problem}`, "failed");
      else write(told.text, told.failed ? "failed" : "");
    } catch (failure) {
      write("The console does not answer.", "failed");
    }
  });
})();
