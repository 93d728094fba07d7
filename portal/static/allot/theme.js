// Sets light or dark before the first paint; the choice is light, dark or what the system says.
(() => {
  const root = document.documentElement;
  const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");
  const choices = ["system", "light", "dark"];

  function chosen() {
    try {
      const kept = localStorage.getItem("allot-theme");
      return choices.includes(kept) ? kept : "system";
    } catch {
      return "system"; // storage can be forbidden; the system's choice holds then
    }
  }

  function show(choice) {
    root.dataset.themeChoice = choice;
    root.dataset.bsTheme = choice === "system" ? (systemIsDark.matches ? "dark" : "light") : choice;
    document.dispatchEvent(new CustomEvent("allot:theme"));
  }

  function next() {
    const choice = choices[(choices.indexOf(root.dataset.themeChoice) + 1) % choices.length];
    try {
      localStorage.setItem("allot-theme", choice);
    } catch {
      // the choice holds for this page only
    }
    show(choice);
  }

  root.classList.remove("no-script");
  show(chosen());
  systemIsDark.addEventListener("change", () => show(chosen()));
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-theme-next]")) next();
  });
})();
