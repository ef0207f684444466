"use strict";
// What makes the pages more pleasant; all but the charts, the tail and the completion work without.
(() => {
  // A server that is away is asked again by itself.
  const retry = document.querySelector("[data-retry]");
  if (retry) setTimeout(() => location.reload(), 1000 * Number(retry.dataset.retry));

  // Letters lead to the pages, / to the first field; they are typed in fields as ever.
  const pages = [...document.querySelectorAll(".bar nav a")];
  addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      const field = document.querySelector("main input:not([type=hidden]), main textarea");
      if (field) { event.preventDefault(); field.focus(); }
    } else if (/^[1-9]$/.test(event.key) && pages[event.key - 1]) pages[event.key - 1].click();
  });
})();
