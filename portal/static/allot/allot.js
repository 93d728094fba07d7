// The frame's behaviour: keys, menus, toasts. Every page works without it.
(() => {
  const TOAST_MS = 8000; // long enough to read two sentences; errors stay until they are closed
  const FADE_MS = 200;
  const body = document.body;

  // ---- keys: an element with data-key is pressed (or focused, where it takes text) by that key
  const typing = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;

  function press(element) {
    if (element.matches("input:not([type=submit]), textarea, select")) {
      element.focus();
    } else {
      element.click();
      // At once: the toggle event comes later, and a letter typed meanwhile would be another answer's key.
      if (element.matches("summary")) fieldOf(element.parentElement)?.focus();
    }
  }

  function fieldOf(disclosed) {
    return disclosed.open ? disclosed.querySelector("textarea, input:not([type=hidden])") : null;
  }

  function showKeys() {
    const dialog = document.getElementById("keys");
    const list = dialog.querySelector("[data-page-keys]");
    const seen = new Set();
    list.replaceChildren();
    for (const element of document.querySelectorAll("[data-key][data-key-name]")) {
      if (seen.has(element.dataset.key)) continue;
      seen.add(element.dataset.key);
      const key = document.createElement("dt");
      const name = document.createElement("dd");
      const cap = document.createElement("kbd");
      cap.textContent = element.dataset.key;
      key.append(cap);
      name.textContent = element.dataset.keyName;
      list.append(key, name);
    }
    dialog.showModal();
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeMenus(null);
    // A key held down must not decide on one pitch after the other.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "?") {
      event.preventDefault();
      showKeys();
      return;
    }
    const wanted = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (wanted) {
      event.preventDefault();
      press(wanted);
    }
  });

  // ---- menus: one open at a time, closed by Escape and by a click elsewhere
  function closeMenus(except) {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (menu !== except) menu.open = false;
    }
  }
  document.addEventListener("click", (event) => {
    closeMenus(event.target.closest("details.menu"));
    const close = event.target.closest("[data-close]");
    if (close) close.closest(".toast-line, dialog").dispatchEvent(new Event("allot:close"));
  });

  // ---- a choice that filters a list applies at once
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
  });

  // ---- a disclosed form puts the cursor where the answer is due
  document.addEventListener("toggle", (event) => {
    if (event.target.open && event.target.matches(".disclose")) {
      // Not by the name attribute: a part that htmx puts in would lose its open answer to the one it replaces.
      for (const other of event.target.parentElement.querySelectorAll(":scope > .disclose[open]")) {
        if (other !== event.target) other.open = false;
      }
      const field = fieldOf(event.target);
      if (!event.target.contains(document.activeElement) || document.activeElement.matches("summary")) field?.focus();
    }
  }, true);

  // ---- toasts
  function leave(line) {
    line.classList.add("is-leaving");
    setTimeout(() => line.remove(), FADE_MS);
  }
  function watchToast(line) {
    if (line.dataset.watched) return;
    line.dataset.watched = "yes";
    line.addEventListener("allot:close", () => leave(line));
    if (line.matches(".toast-bad")) return;
    let timer = setTimeout(() => leave(line), TOAST_MS);
    const stay = () => clearTimeout(timer);
    const again = () => { stay(); timer = setTimeout(() => leave(line), TOAST_MS); };
    line.addEventListener("mouseenter", stay);
    line.addEventListener("focusin", stay);
    line.addEventListener("mouseleave", again);
    line.addEventListener("focusout", again);
  }
  const watchToasts = () => document.querySelectorAll(".toast-line").forEach(watchToast);
  for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("allot:close", () => dialog.close());

  function say(text) {
    const template = document.getElementById("toast-template");
    const line = template.content.firstElementChild.cloneNode(true);
    line.querySelector("[data-text]").textContent = text;
    document.getElementById("toasts").prepend(line);
    watchToast(line);
  }

  // ---- after a swap the reader stands at what is new: the field to correct, or the heading
  document.addEventListener("htmx:afterSettle", (event) => {
    watchToasts();
    (event.target.querySelector(".is-invalid") || event.target.querySelector("[data-focus]"))?.focus({ preventScroll: true });
  });
  document.addEventListener("htmx:sendError", () => say(body.dataset.textOffline));
  document.addEventListener("htmx:timeout", () => say(body.dataset.textOffline));
  document.addEventListener("htmx:responseError", () => say(body.dataset.textBroken));
  watchToasts();
  document.querySelector("main .is-invalid")?.focus();
})();
