// The seconds in which an answer can be taken back; without script the button stays and the server says when it is late.
(() => {
  "use strict";

  const SECOND_MS = 1000;

  function count(form) {
    if (form.dataset.watched) return;
    form.dataset.watched = "yes";
    const ends = Date.now() + Number(form.dataset.undo) * SECOND_MS;
    const shown = form.querySelector("[data-undo-left]");
    const timer = setInterval(() => {
      const left = Math.ceil((ends - Date.now()) / SECOND_MS);
      if (left > 0 && form.isConnected) {
        shown.textContent = String(left);
        return;
      }
      clearInterval(timer);
      form.remove();
    }, SECOND_MS / 4);
  }

  const watch = () => document.querySelectorAll("[data-undo]").forEach(count);
  document.addEventListener("htmx:afterSettle", watch);
  watch();
})();
