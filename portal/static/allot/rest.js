// The answers of a pitch that was just put in place rest for a moment: the second tap of two was meant for the one before.
(() => {
  "use strict";

  const REST_MS = 1000; // longer than any double tap, shorter than reading a pitch
  const ANSWERS = "[data-rests]";

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id !== "queue") return;
    for (const answers of event.target.querySelectorAll(ANSWERS)) {
      answers.classList.add("is-resting");
      setTimeout(() => answers.classList.remove("is-resting"), REST_MS);
    }
  });

  // A key presses by a click, too. Swallowed here and not made inert: a tap must not fall through to what lies beneath.
  window.addEventListener("click", (event) => {
    if (!event.target.closest?.(".is-resting") || !event.target.closest("button, summary")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
})();
