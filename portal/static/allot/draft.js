// The draft keeps itself: tells how long ago it was saved, and asks before a page with unsaved words is left.
(() => {
  const TICK_MS = 5_000; // "5 s ago", "10 s ago"
  const form = document.getElementById("pitch-form");
  const part = document.getElementById("autosave");
  if (!form || !part) return;
  let savedAt = 0;
  let typed = 0; // counts what was typed; a save settles what was typed when it began
  let sent = 0;
  let settled = 0;

  form.addEventListener("input", (event) => {
    typed += 1;
    forgive(event.target);
  });
  // A refusal is about what was typed before: it goes as soon as the field says something else.
  function forgive(field) {
    if (!field.classList.contains("is-invalid")) return;
    field.classList.remove("is-invalid");
    field.removeAttribute("aria-invalid");
    document.getElementById(`${field.id}_error`)?.remove();
  }

  form.addEventListener("submit", () => { settled = Infinity; });
  part.addEventListener("click", (event) => { if (event.target.closest("[data-leaves]")) settled = Infinity; });
  document.addEventListener("htmx:beforeRequest", (event) => { if (event.detail.elt === part) sent = typed; });
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.elt !== part && event.target !== part) return;
    if (!part.querySelector("[data-saved]")) return;
    savedAt = Date.now();
    settled = Math.max(settled, sent);
  });

  setInterval(() => {
    const age = part.querySelector("[data-saved]");
    if (!age || !savedAt) return;
    const seconds = Math.round((Date.now() - savedAt) / 5000) * 5;
    const text = seconds < 60 ? age.dataset.seconds.replace("{n}", seconds) : age.dataset.minutes.replace("{n}", Math.floor(seconds / 60));
    if (seconds > 0) age.textContent = text;
  }, TICK_MS);

  window.addEventListener("beforeunload", (event) => { if (typed > settled) event.preventDefault(); });
})();
