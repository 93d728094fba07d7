// The decision desk: what is marked is judged at once; one row has the cursor, and keys act on it.
// The page works without this: the server applies the same rule.
(() => {
  const HOURS_A_DAY = 24;
  const NAMED_ROWS = 4; // as the server names them
  const THIN_SPACE = "\u202f";
  const desk = document.getElementById("desk");
  let data = null;
  let asks = new Map();
  let current = "";
  let now = { room: [], promised: [] };

  const rows = () => [...desk.querySelectorAll(".desk-row")];
  const detailOf = (row) => (row.nextElementSibling?.matches(".desk-detail") ? row.nextElementSibling : null);
  const rowOf = (key) => desk.querySelector(`.desk-row[data-key-of="${CSS.escape(key)}"]`);
  const keyOf = (row) => row.dataset.keyOf;
  const part = (row, name) => row.querySelector(`[name="${name}"], [name="${name}-${keyOf(row)}"]`);
  const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
  const say = (name, words) => data.words[name].replace(/%\((\w+)\)s/g, (_all, word) => words[word]);

  function setUp() {
    const source = document.getElementById("desk-data");
    data = source ? JSON.parse(source.textContent) : null;
    if (!data) return;
    asks = new Map(data.asks.map(([key, first, last, gpus, least, days]) => [key, { key, first, last, gpus, least, days }]));
    for (const row of rows()) row.draggable = true;
    if (!rowOf(current)) current = "";
    if (current) putCursor(rowOf(current), { quietly: true });
    recompute();
  }

  // ---- what is marked, judged
  function gpusOf(row) {
    const ask = asks.get(keyOf(row));
    const typed = part(row, "gpus").value.trim();
    return /^\d{1,9}$/.test(typed) ? Math.min(Math.max(Number(typed), 1), ask.gpus) : ask.gpus;
  }

  // the budget without the grants that are left out
  function budget() {
    const [room, promised] = [data.room.slice(), data.promised.slice()];
    for (const [key, first, last, gpus] of data.promises) {
      if (!desk.querySelector(`[name="end"][value="${CSS.escape(key)}"]`)?.checked) continue;
      for (let stretch = first; stretch < last; stretch += 1) {
        room[stretch] += gpus;
        promised[stretch] -= gpus;
      }
    }
    return { room, promised };
  }

  function recompute() {
    const shown = rows();
    now = budget();
    const taken = new Map(shown.filter((row) => part(row, "take").checked).map((row) => [keyOf(row), gpusOf(row)]));
    const judged = window.allotDesk.judge(now.room, shown.map((row) => asks.get(keyOf(row))), taken);
    const ranks = new Map(shown.map((row, place) => [keyOf(row), place + 1]));
    for (const row of shown) showRow(row, judged.findings.get(keyOf(row)), ranks, taken);
    const tightest = showWeeks(judged.left);
    showSummary(shown, taken, judged, tightest);
    desk.dataset.judged = String(Number(desk.dataset.judged || 0) + 1);
  }

  function showRow(row, finding, ranks, taken) {
    const ask = asks.get(keyOf(row));
    let outcome = data.words.fits;
    if (!finding.fits) {
      outcome = say("short", { n: number(finding.short), day: data.days[finding.at] });
      if (finding.free >= ask.least) outcome += say("some", { n: number(finding.free) });
    }
    row.classList.toggle("is-out", !finding.fits);
    row.classList.toggle("is-taken", taken.has(ask.key));
    row.classList.toggle("is-declined", Boolean(part(row, "decline")?.checked));
    row.querySelector("[data-desk-outcome]").textContent = outcome;
    const named = finding.displaces.slice(0, NAMED_ROWS).map((key) => `#${ranks.get(key)}`).join(", ");
    const more = finding.displaces.length - NAMED_ROWS;
    row.querySelector("[data-desk-displaced]").textContent = more > 0 ? say("more", { rows: named, n: more }) : named;
    row.querySelector("[data-desk-displaces]").hidden = finding.displaces.length === 0;
  }

  function showWeeks(left) {
    let tightest = Infinity;
    data.weeks.forEach(([first, last], week) => {
      let at = first;
      for (let stretch = first + 1; stretch < last; stretch += 1) if (left[stretch] < left[at]) at = stretch;
      tightest = Math.min(tightest, left[at]);
      const promised = now.promised[at];
      const limit = Math.max(0, promised + now.room[at]);
      const total = promised + now.room[at] - left[at];
      const column = desk.querySelector(`.desk-week[data-week="${week}"]`);
      box(column.querySelector(".promised"), 0, Math.min(promised, limit));
      box(column.querySelector(".taken"), Math.min(promised, limit), Math.min(total, limit));
      box(column.querySelector(".over"), limit, total);
      column.querySelector("title").textContent = weekSays(week, left, at);
      column.dataset.says = weekSays(week, left, at);
    });
    readOut();
    return tightest;
  }

  function weekSays(week, left, at) {
    const words = { day: data.weeks[week][2], promised: number(now.promised[at]), taken: number(now.room[at] - left[at]), left: leftSays(left[at]) };
    return `${say("week", words)} ${data.weeks[week][3]}`;
  }

  const leftSays = (gpus) => (gpus < 0 ? say("over", { n: number(-gpus) }) : say("left", { n: number(gpus) }));

  function box(rect, low, high) {
    const [from, to] = [low, high].map((value) => (data.height * Math.min(Math.max(value, 0), data.top)) / data.top);
    rect.setAttribute("y", (data.height - to).toFixed(1));
    rect.setAttribute("height", Math.max(to - from, 0).toFixed(1));
  }

  function readOut(week) {
    const scrub = desk.querySelector("[data-desk-week]");
    if (week !== undefined) scrub.value = week;
    for (const column of desk.querySelectorAll(".desk-week")) column.classList.toggle("is-read", column.dataset.week === scrub.value);
    const says = desk.querySelector(`.desk-week[data-week="${scrub.value}"]`).dataset.says;
    scrub.setAttribute("aria-valuetext", says);
    const line = document.getElementById("desk-readout");
    if (line.textContent !== says) line.textContent = says;
  }

  function showSummary(shown, taken, judged, tightest) {
    const figure = desk.querySelector("[data-desk-left]");
    figure.textContent = tightest < 0 ? say("over", { n: number(-tightest) }) : number(tightest);
    figure.classList.toggle("debt", tightest < 0);
    const line = desk.querySelector("[data-desk-summary]");
    if (!line) return;
    let summary = data.words.nothing;
    if (taken.size) {
      const peak = Math.max(...now.room.map((room, at) => room - judged.left[at]));
      const hours = [...taken].reduce((sum, [key, gpus]) => sum + gpus * asks.get(key).days * HOURS_A_DAY, 0);
      const out = [...taken.keys()].filter((key) => !judged.findings.get(key).fits).length;
      summary = say("summary", { n: taken.size, peak: number(peak), hours: number(hours), left: leftSays(Math.min(...judged.left)) });
      if (out) summary += ` ${say("out", { out })}`;
    }
    line.textContent = summary;
    const mine = shown.filter((row) => part(row, "decline"));
    const declined = mine.filter((row) => part(row, "decline").checked).length;
    const approved = mine.filter((row) => part(row, "take").checked).length;
    const others = taken.size - approved;
    let sign = declined + approved ? say("sign", { approve: approved, decline: declined }) : data.words.none;
    if (others) sign += ` ${say("others", { n: others })}`;
    desk.querySelector("[data-desk-sign]").textContent = sign;
    const button = desk.querySelector("[data-desk-decide]");
    const count = approved + declined;
    button.disabled = count === 0;
    desk.querySelector("[data-desk-count]").textContent = count === 1 ? button.dataset.one : button.dataset.many.replace("%(n)s", count);
  }

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

  function mark(row, name, isOn) {
    const ticked = part(row, name);
    if (!ticked) return false;
    ticked.checked = isOn;
    const other = part(row, name === "take" ? "decline" : "take");
    if (isOn && other) other.checked = false;
    recompute();
    return true;
  }

  // ---- ranks: the order of the rows is the ranking
  function number_rows() {
    rows().forEach((row, place) => { part(row, "rank").value = place + 1; });
    recompute();
  }

  function move(row, before) {
    const body = row.parentElement;
    for (const detail of body.querySelectorAll(".desk-detail")) detail.remove();
    if (before) body.insertBefore(row, before);
    else body.append(row);
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
    cell.textContent = data.words.loading;
    detail.append(cell);
    row.after(detail);
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
      gpus.value = asks.get(keyOf(row)).least;
      recompute();
      gpus.focus();
      gpus.select();
    },
    decline: (row) => {
      if (mark(row, "decline", true)) part(row, "reason").focus();
      else desk.querySelector("[data-desk-summary]").textContent = desk.querySelector("[data-not-yours]").dataset.notYours;
    },
    open: (row) => {
      const detail = detailOf(row);
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
  });

  desk.addEventListener("change", (event) => {
    const row = event.target.closest(".desk-row");
    if (event.target.matches("[data-desk-week]")) readOut();
    if (event.target.name === "end") recompute();
    if (!row) return;
    if (event.target.name === "take" || event.target.name === "decline") mark(row, event.target.name, event.target.checked);
    if (event.target.name.startsWith("rank-")) rankTyped(row);
  });

  desk.addEventListener("input", (event) => {
    if (event.target.matches("[data-desk-week]")) readOut();
    if (event.target.name?.startsWith("gpus-")) recompute();
  });

  desk.addEventListener("focusin", (event) => {
    const row = event.target.closest(".desk-row");
    if (row && keyOf(row) !== current) putCursor(row, { quietly: true });
  });

  desk.addEventListener("mouseover", (event) => {
    const column = event.target.closest(".desk-week");
    if (column && data) readOut(column.dataset.week);
  });

  // Keys inside a row: Enter and Escape end the typing and never send the form; space marks.
  document.addEventListener("keydown", (event) => {
    if (!data || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const row = event.target.closest?.(".desk-row");
    const types = row && event.target.matches("input:not([type=checkbox])");
    if (types && (event.key === "Enter" || event.key === "Escape")) {
      event.preventDefault();
      event.stopImmediatePropagation();
      if (event.target.name.startsWith("rank-")) rankTyped(row);
      putCursor(row);
      return;
    }
    if (types) return;
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
