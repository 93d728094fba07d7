// The decision desk's keys, cursor and dragging; what is marked is judged by desk-board.js.
// The page works without this: the server applies the same rule.
(() => {
  const desk = document.getElementById("desk");
  const board = window.allotDesk.board;
  const { rows, keyOf, rowOf, askOf, below, part, recompute, readOut, mark, openTerms } = board;
  let current = "";

  function setUp() {
    if (!board.read()) return;
    for (const row of rows()) row.draggable = true;
    if (!rowOf(current)) current = "";
    if (current) putCursor(rowOf(current), { quietly: true });
    recompute();
  }

  const rowAround = (inside) => {
    const near = inside.closest?.(".desk-row, .desk-terms");
    return near?.matches(".desk-terms") ? rowOf(near.dataset.termsOf) : near;
  };

  // ---- the cursor
  function putCursor(row, { quietly = false } = {}) {
    for (const other of rows()) other.classList.toggle("is-current", other === row);
    current = keyOf(row);
    if (quietly) return;
    part(row, "take").focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const shown = rows();
    const place = shown.findIndex((row) => keyOf(row) === current);
    putCursor(shown[Math.min(Math.max(place + by, 0), shown.length - 1)]);
  }

  // ---- ranks: the order of the rows is the ranking
  function number_rows() {
    rows().forEach((row, place) => { part(row, "rank").value = place + 1; });
    recompute();
  }

  function move(row, before) {
    const body = row.parentElement;
    const terms = below(row, ".desk-terms");
    for (const detail of body.querySelectorAll(".desk-detail")) detail.remove();
    if (before) body.insertBefore(row, before);
    else body.append(row);
    if (terms) row.after(terms);
    number_rows();
  }

  function shift(row, by) {
    const shown = rows();
    const place = shown.indexOf(row) + by;
    if (place < 0 || place >= shown.length) return;
    move(row, by < 0 ? shown[place] : shown[place + 1]);
    putCursor(row);
  }

  // ---- the whole text of a pitch and the record of those who ask, under its row; the server notes that it was open
  function openDetail(row) {
    const detail = document.createElement("tr");
    detail.className = "desk-detail";
    const cell = document.createElement("td");
    cell.colSpan = row.cells.length;
    cell.setAttribute("aria-live", "polite");
    cell.textContent = board.word("loading");
    detail.append(cell);
    openTerms(row).after(detail);
    const csrfmiddlewaretoken = desk.querySelector("[name=csrfmiddlewaretoken]").value;
    const address = `${desk.dataset.pitches}${keyOf(row)}/opened/`;
    window.htmx.ajax("POST", address, { target: cell, swap: "innerHTML", values: { desk: "1", csrfmiddlewaretoken } })
      .then(() => row.querySelector("[data-desk-unopened]")?.remove());
  }

  function rankTyped(row) {
    const wanted = Number(part(row, "rank").value);
    if (Number.isInteger(wanted) && wanted > 0) {
      const others = rows().filter((other) => other !== row);
      move(row, others[wanted - 1]);
    } else {
      number_rows();
    }
  }

  function notYours() {
    const line = desk.querySelector("[data-not-yours]");
    line.textContent = line.dataset.notYours;
  }

  // what does not fit as it is marked, all of it with one key
  const forMisfits = {
    fit: () => board.approveWhatFits(),
    list: () => {
      for (const row of board.misfits()) {
        openTerms(row);
        mark(row, "waitlist", true);
      }
    },
  };

  const actions = {
    next: () => step(1),
    previous: () => step(-1),
    toggle: (row) => mark(row, "take", !part(row, "take").checked),
    approve: (row) => {
      if (mark(row, "take", true)) step(1);
    },
    less: (row) => {
      mark(row, "take", true);
      const gpus = part(row, "gpus");
      gpus.value = askOf(row).least;
      recompute();
      gpus.focus();
      gpus.select();
    },
    decline: (row) => {
      if (mark(row, "decline", true)) part(row, "reason").focus();
      else notYours();
    },
    terms: (row) => {
      const terms = openTerms(row);
      part(row, "start").focus({ preventScroll: true });
      terms.scrollIntoView({ block: "nearest" });
    },
    waitlist: (row) => {
      if (!board.isMine(row)) return notYours();
      const terms = openTerms(row);
      mark(row, "waitlist", true);
      part(row, "place").focus({ preventScroll: true });
      terms.scrollIntoView({ block: "nearest" });
    },
    open: (row) => {
      const detail = below(row, ".desk-detail");
      if (detail) detail.remove();
      else openDetail(row);
    },
    up: (row) => shift(row, -1),
    down: (row) => shift(row, 1),
  };

  function act(name) {
    if (!rows().length) return;
    const row = rowOf(current);
    if (row || name === "next" || name === "previous") actions[name](row);
    else {
      putCursor(rows()[0]);
      if (name !== "toggle") actions[name](rows()[0]);
      else mark(rows()[0], "take", !part(rows()[0], "take").checked);
    }
  }

  desk.addEventListener("click", (event) => {
    const button = event.target.closest("[data-desk]");
    const row = button?.closest(".desk-row");
    if (row) putCursor(row, { quietly: true });
    if (button) act(button.dataset.desk);
    if (event.target.closest("[data-desk-close]")) document.getElementById("desk-change").replaceChildren();
    forMisfits[event.target.closest("[data-desk-all]")?.dataset.deskAll]?.();
  });

  const isElsewhere = (row) => askOf(row).fits !== undefined;

  // another model comes with the number of it that would do, the old one with what was on the table
  function setGpusOfModel(row) {
    part(row, "gpus").value = board.usualGpus(row, part(row, "model").value);
  }

  desk.addEventListener("change", (event) => {
    const row = rowAround(event.target);
    if (event.target.matches("[data-desk-week]")) readOut();
    if (event.target.name === "end") recompute();
    if (!row) return;
    if (["take", "decline", "waitlist"].includes(event.target.name)) mark(row, event.target.name, event.target.checked);
    if (event.target.name.startsWith("place-") && event.target.value) mark(row, "waitlist", true);
    if (event.target.name.startsWith("model-")) setGpusOfModel(row);
    if (/^(start|days|model)-/.test(event.target.name) || (isElsewhere(row) && event.target.name.startsWith("gpus-"))) board.refresh(row);
    if (event.target.name.startsWith("rank-")) rankTyped(row);
  });

  desk.addEventListener("input", (event) => {
    if (event.target.matches("[data-desk-week]")) readOut();
    if (event.target.name?.startsWith("gpus-")) recompute();
    if (event.target.name?.startsWith("keeps-")) {
      const without = event.target.closest("tr").querySelector("[name=end]");
      if (event.target.value) without.checked = true;
      recompute();
    }
  });

  desk.addEventListener("focusin", (event) => {
    const row = rowAround(event.target);
    if (row && keyOf(row) !== current) putCursor(row, { quietly: true });
  });

  desk.addEventListener("mouseover", (event) => {
    const column = event.target.closest(".desk-week");
    if (column && board.isThere()) readOut(column.dataset.week);
  });

  // Keys inside a row: Enter and Escape end the typing and never send the form; space marks.
  document.addEventListener("keydown", (event) => {
    if (!board.isThere() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const row = rowAround(event.target);
    const types = row && event.target.matches("input:not([type=checkbox]), select");
    if (types && (event.key === "Enter" || event.key === "Escape")) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (event.target.name.startsWith("rank-")) rankTyped(row);
      const isUnder = event.target.closest(".desk-terms");
      putCursor(row);
      if (isUnder && event.key === "Escape") board.closeUntouched(row);
      return;
    }
    if (types) return;
    if (event.key === "Enter" && event.target.name?.startsWith("keeps-")) event.preventDefault();
    const isTick = event.target.matches?.("input[type=checkbox]");
    if (event.key === "Enter" && isTick) {
      // the first press shows what will be decided, the second decides
      event.preventDefault();
      event.stopImmediatePropagation();
      desk.querySelector("[data-desk-decide]")?.focus();
      return;
    }
    if (event.key === "Enter") return;
    if (event.key === " " && !isTick && (event.target === document.body || event.target.id === "main")) {
      event.preventDefault();
      act("toggle");
      return;
    }
    // allot.js leaves keys alone that are typed into an input; a tick box takes none but space
    if (isTick && !event.repeat && event.key !== " ") {
      const wanted = desk.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (wanted) {
        event.preventDefault();
        event.stopImmediatePropagation();
        wanted.click();
      }
    }
  }, true);

  // ---- dragging
  let dragged = null;
  desk.addEventListener("dragstart", (event) => {
    if (event.target.matches?.("input")) {
      event.preventDefault();
      return;
    }
    dragged = event.target.closest?.(".desk-row");
    event.dataTransfer?.setData("text/plain", dragged ? keyOf(dragged) : "");
  });
  desk.addEventListener("dragover", (event) => {
    if (dragged && event.target.closest(".desk-row")) event.preventDefault();
  });
  desk.addEventListener("drop", (event) => {
    const target = event.target.closest(".desk-row");
    if (!dragged || !target || target === dragged) return;
    event.preventDefault();
    const below = event.clientY > target.getBoundingClientRect().top + target.offsetHeight / 2;
    const shown = rows();
    move(dragged, below ? shown[shown.indexOf(target) + 1] : target);
    dragged = null;
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "desk") setUp();
  });
  setUp();
})();
