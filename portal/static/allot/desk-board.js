// The desk's board in the browser: what is marked is judged at once, and rows, bar and foot show it.
(() => {
  const HOURS_A_DAY = 24;
  const NAMED_ROWS = 4; // as the server names them
  const THIN_SPACE = "\u202f";
  const ANSWERS = ["take", "decline", "waitlist"];
  const desk = document.getElementById("desk");
  let data = null;
  let asks = new Map();
  let now = { room: [], promised: [] };
  let misfits = [];
  let asked = 0;

  const rows = () => [...desk.querySelectorAll(".desk-row")];
  const keyOf = (row) => row.dataset.keyOf;
  const rowOf = (key) => desk.querySelector(`.desk-row[data-key-of="${CSS.escape(key)}"]`);
  const askOf = (row) => asks.get(keyOf(row));
  const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
  const say = (name, words) => data.words[name].replace(/%\((\w+)\)s/g, (_all, word) => words[word]);

  // what is open under a row: its other terms, its whole text
  function below(row, kind) {
    for (let next = row.nextElementSibling; next && !next.matches(".desk-row"); next = next.nextElementSibling) {
      if (next.matches(kind)) return next;
    }
    return null;
  }
  const part = (row, name) => {
    const named = `[name="${name}"], [name="${name}-${keyOf(row)}"]`;
    return row.querySelector(named) || below(row, ".desk-terms")?.querySelector(named);
  };
  const isOn = (row, name) => Boolean(part(row, name)?.checked);
  const isMine = (row) => Boolean(part(row, "decline"));

  function read() {
    const source = document.getElementById("desk-data");
    take(source ? JSON.parse(source.textContent) : null);
    return data !== null;
  }

  function take(found) {
    data = found;
    if (!data) return;
    const names = ["key", "first", "last", "gpus", "least", "days", "most", "above", "table", "start", "tableDays", "fits", "outcome"];
    asks = new Map(data.asks.map((told) => [told[0], Object.fromEntries(told.map((value, place) => [names[place], value]))]));
  }

  // Other days or another model: which stretches that means, the server says.
  async function refresh(row) {
    asked += 1;
    const mine = asked;
    const form = desk.querySelector(".desk-form");
    const typed = new FormData(form);
    typed.set("do", "numbers");
    if (part(row, "model")?.value) row.querySelector("[data-desk-outcome]").textContent = say("elsewhere", { model: part(row, "model").value });
    const answer = await fetch(desk.dataset.try, { method: "POST", body: typed });
    if (!answer.ok || mine !== asked || !form.isConnected) return;
    take(await answer.json());
    recompute();
  }

  // ---- what is marked, judged
  function gpusOf(row) {
    const ask = askOf(row);
    const typed = part(row, "gpus").value.trim();
    return /^\d{1,9}$/.test(typed) ? Math.min(Math.max(Number(typed), 1), ask.most) : ask.gpus;
  }

  // the budget without the grants that are left out, less what they keep
  function budget() {
    const [room, promised] = [data.room.slice(), data.promised.slice()];
    for (const [key, first, last, gpus] of data.promises) {
      if (!desk.querySelector(`[name="end"][value="${CSS.escape(key)}"]`)?.checked) continue;
      const typed = desk.querySelector(`[name="keeps-${CSS.escape(key)}"]`).value.trim();
      const freed = gpus - (/^\d{1,9}$/.test(typed) ? Math.min(Number(typed), gpus) : 0);
      for (let stretch = first; stretch < last; stretch += 1) {
        room[stretch] += freed;
        promised[stretch] -= freed;
      }
    }
    return { room, promised };
  }

  // what is of another model takes nothing here, and stands as the server said
  function judged(shown, taken, room) {
    const here = shown.filter((row) => askOf(row).fits === undefined);
    const marked = new Map([...taken].filter(([key]) => asks.get(key).fits === undefined));
    const found = window.allotDesk.judge(room, here.map(askOf), marked);
    for (const row of shown) if (askOf(row).fits !== undefined) found.findings.set(keyOf(row), { fits: askOf(row).fits, displaces: [] });
    return found;
  }

  function recompute() {
    const shown = rows();
    now = budget();
    const taken = new Map(shown.filter((row) => isOn(row, "take")).map((row) => [keyOf(row), gpusOf(row)]));
    const found = judged(shown, taken, now.room);
    const ranks = new Map(shown.map((row, place) => [keyOf(row), place + 1]));
    for (const row of shown) showRow(row, found.findings.get(keyOf(row)), ranks, taken);
    const leavesOut = now.room.some((room, at) => room !== data.room[at]);
    showMisfits(shown, leavesOut ? judged(shown, taken, data.room) : found, found, ranks);
    const tightest = showWeeks(found.left);
    showSummary(shown, taken, found, tightest);
    desk.dataset.judged = String(Number(desk.dataset.judged || 0) + 1);
  }

  function outcomeOf(ask, finding) {
    if (ask.outcome !== undefined) return ask.outcome;
    if (finding.fits) return data.words.fits;
    const short = say("short", { n: number(finding.short), day: data.days[finding.at] });
    return finding.free >= ask.least ? short + say("some", { n: number(finding.free) }) : short;
  }

  // the answer that is marked, where the tick alone does not say it
  function chosenOf(row, ask, isTaken) {
    if (isOn(row, "waitlist")) {
      const place = part(row, "place").value.trim();
      return place ? say("waits_at", { n: place }) : data.words.waits;
    }
    const start = part(row, "start")?.value;
    const isMoved = isTaken && ask.outcome === undefined && start && start !== ask.start;
    return isMoved ? say("starts", { day: data.days[ask.first] }) : "";
  }

  function numbersOf(keys, ranks) {
    const named = keys.slice(0, NAMED_ROWS).map((key) => `#${ranks.get(key)}`).join(", ");
    const more = keys.length - NAMED_ROWS;
    return more > 0 ? say("more", { rows: named, n: more }) : named;
  }

  function showRow(row, finding, ranks, taken) {
    const ask = askOf(row);
    row.classList.toggle("is-out", !finding.fits);
    row.classList.toggle("is-taken", taken.has(ask.key));
    row.classList.toggle("is-declined", isOn(row, "decline"));
    row.classList.toggle("is-waitlisted", isOn(row, "waitlist"));
    row.querySelector("[data-desk-chosen]").textContent = chosenOf(row, ask, taken.has(ask.key));
    row.querySelector("[data-desk-outcome]").textContent = outcomeOf(ask, finding);
    row.querySelector("[data-desk-displaced]").textContent = numbersOf(finding.displaces, ranks);
    row.querySelector("[data-desk-displaces]").hidden = finding.displaces.length === 0;
  }

  // marked by whoever signs it now, and not kept as it is marked: the server refuses the same
  function showMisfits(shown, today, found, ranks) {
    misfits = shown
      .filter((row) => isMine(row) && isOn(row, "take") && !askOf(row).above)
      .map((row) => ({ row, finding: today.findings.get(keyOf(row)), ifEnded: found.findings.get(keyOf(row)) }))
      .filter(({ finding }) => !finding.fits);
    const note = desk.querySelector("[data-desk-misfits]");
    if (!note) return;
    note.hidden = misfits.length === 0;
    if (!misfits.length) return;
    const [{ row, finding, ifEnded }] = misfits;
    const why = outcomeOf(askOf(row), finding);
    const text = say("misfits", { rows: misfitRows(ranks), why });
    desk.querySelector("[data-desk-misfit]").textContent = ifEnded.fits ? `${text} ${data.words.if_ended}` : text;
    desk.querySelector('[data-desk-all="fit"]').hidden = !misfits.some((each) => canFit(each));
  }

  const canFit = ({ row, finding }) => finding.free >= askOf(row).least;
  const misfitRows = (ranks) => numbersOf(misfits.map(({ row }) => keyOf(row)), ranks || new Map(rows().map((row, place) => [keyOf(row), place + 1])));

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
    figure.textContent = leftSays(tightest);
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
    const mine = shown.filter(isMine);
    const [took, declined, waitlist] = ANSWERS.map((name) => mine.filter((row) => isOn(row, name)).length);
    const approve = took - misfits.length;
    const others = taken.size - took;
    const count = approve + declined + waitlist;
    let sign = count ? say("sign", { approve, decline: declined }) : data.words.none;
    if (waitlist) sign += ` ${say("listed", { n: waitlist })}`;
    if (others) sign += ` ${say("others", { n: others })}`;
    desk.querySelector("[data-desk-sign]").textContent = sign;
    const button = desk.querySelector("[data-desk-decide]");
    button.disabled = count === 0;
    const { one, many, but, none } = button.dataset;
    let label = count === 1 ? one : many;
    if (misfits.length) label = count ? but : none;
    desk.querySelector("[data-desk-count]").textContent = label.replace("%(n)s", count).replace("%(rows)s", misfits.length ? misfitRows() : "");
  }

  // one answer for a row at a time; false where it is not the person's turn
  function mark(row, name, on) {
    const ticked = part(row, name);
    if (!ticked) return false;
    for (const other of ANSWERS) if (on && other !== name && part(row, other)) part(row, other).checked = false;
    ticked.checked = on;
    recompute();
    return true;
  }

  // the misfits one by one, in the order of their ranks: each leaves less for the next
  function approveWhatFits() {
    for (const key of misfits.map(({ row }) => keyOf(row))) {
      const misfit = misfits.find(({ row }) => keyOf(row) === key);
      if (!misfit || !canFit(misfit)) continue;
      part(misfit.row, "gpus").value = misfit.finding.free;
      recompute();
    }
  }

  // the other terms of a row, under it
  function openTerms(row) {
    const there = below(row, ".desk-terms");
    if (there) return there;
    const ask = askOf(row);
    const told = document.createElement("template");
    const filled = { __key__: keyOf(row), __seen__: part(row, "take").value };
    told.innerHTML = document.getElementById("desk-terms").innerHTML.replace(/__key__|__seen__/g, (name) => filled[name]);
    const made = told.content.firstElementChild;
    row.after(made);
    part(row, "start").value = ask.start;
    part(row, "days").value = ask.tableDays;
    if (!isMine(row)) part(row, "waitlist").closest(".field").remove();
    for (const option of part(row, "model")?.options || []) {
      const n = (data.alternatives[keyOf(row)] || {})[option.value];
      if (n) option.textContent = say("would_do", { model: option.value, n: number(n) });
    }
    return made;
  }

  // nothing of it says anything: it goes with Escape
  function closeUntouched(row) {
    const ask = askOf(row);
    const isAsBefore = part(row, "start").value === ask.start && part(row, "days").value === String(ask.tableDays);
    if (isAsBefore && !part(row, "model")?.value && !isOn(row, "waitlist") && !below(row, ".desk-detail")) below(row, ".desk-terms").remove();
  }

  // of the model that is named ("" the one on the table): what would do, else what was asked for
  function usualGpus(row, model) {
    return (data.alternatives[keyOf(row)] || {})[model] || askOf(row).table;
  }

  window.allotDesk.board = {
    usualGpus, closeUntouched, rows, keyOf, rowOf, askOf, below, part, isMine, read, refresh, recompute, readOut, mark, openTerms, approveWhatFits,
    misfits: () => misfits.map(({ row }) => row),
    word: (name) => data.words[name],
    say,
    isThere: () => data !== null,
  };
})();
