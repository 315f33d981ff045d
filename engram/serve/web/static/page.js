// Keys of the page. Everything here can be done with the mouse too, and lists and forms
// work without this file.
"use strict";

(() => {
  let awaitsPage = false;

  const entries = () => [...document.querySelectorAll("[data-entry]")];
  const current = () => document.querySelector("[data-entry].current");
  const isField = (node) => node.matches("input:not([type=checkbox]), textarea, select");

  function focusEntry(entry) {
    current()?.classList.remove("current");
    entry.classList.add("current");
    (entry.querySelector("a.statement, a, button") || entry).focus({ preventScroll: true });
    entry.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const all = entries();
    if (!all.length) return;
    const place = all.indexOf(current());
    focusEntry(all[Math.min(all.length - 1, Math.max(0, place < 0 ? 0 : place + by))]);
  }

  function press(key) {
    const place = current() || document;
    const button = place.querySelector(`button[data-key="${key}"]`)
      || document.querySelector(`.done button[data-key="${key}"], article button[data-key="${key}"]`);
    button?.click();
  }

  function showKeys() {
    const dialog = document.getElementById("keys");
    if (dialog.open) dialog.close();
    else dialog.showModal();
  }

  const ACTIONS = {
    "/": () => {
      const field = document.getElementById("q");
      if (!field) { location.assign("/"); return; }
      field.focus();
      field.select();
    },
    "j": () => step(1),
    "k": () => step(-1),
    "g": () => { awaitsPage = true; setTimeout(() => { awaitsPage = false; }, 1500); },
    "?": showKeys,
    "a": () => press("a"),
    "x": () => press("x"),
    "u": () => press("u"),
    "s": () => current()?.querySelector("input[type=checkbox]")?.click(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isField(event.target)) {
      // a browser would empty the search field
      if (event.key === "Escape") { event.preventDefault(); event.target.blur(); }
      if (event.key === "ArrowDown" && event.target.id === "q") { event.preventDefault(); step(1); }
      return;
    }
    if (awaitsPage) {
      awaitsPage = false;
      const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const action = ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  // all cases with the same answers
  document.addEventListener("click", (event) => {
    const name = event.target.dataset?.select;
    if (!name) return;
    const boxes = [...document.querySelectorAll(`input[form="${CSS.escape(name)}"]`)];
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
  });

  // after a decision the next case is at hand
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt?.id === "content" && entries().length) focusEntry(entries()[0]);
  });

  // an error page is shown like any other answer
  document.addEventListener("htmx:beforeSwap", (event) => {
    const type = event.detail.xhr.getResponseHeader("Content-Type") || "";
    if (event.detail.xhr.status >= 400 && type.startsWith("text/html")) {
      event.detail.shouldSwap = true;
      event.detail.isError = false;
    }
  });
})();
