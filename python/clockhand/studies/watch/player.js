"use strict";
// Plays steps: every step holds the whole state, so that any step can be shown at once. What is the same for policies and
// write buffers; a view (policies.js, buffers.js) says the rest to `start`.

const { about, courses } = JSON.parse(document.getElementById("report-data").textContent);
const READ = 1, WRITE = 2, DIRTY = 4;
const MOST_IN_A_RING = 40;
const MOST_AROUND = 8;
const REFERENCE_WIDTH = 44;

const $ = (identity) => document.getElementById(identity);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function number(value) {
  if (value === undefined) return "–";
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

// What lists and values are called where their names in the papers say little; others are read as words.
const WORDS = {
  lru_to_mru: "from least to most recently used", fifo: "in the order in which they came", from_hand: "from the hand on",
  dram_from_hand: "from the hand on", nvm_from_hand: "from the hand on", blocks_from_hand: "blocks from the hand on",
  tail_to_head: "from the oldest to the newest", by_count: "by how often they were used", first_of_count: "first of each count",
  T1: "seen once (T1)", T2: "seen more than once (T2)", B1: "remembered, once seen (B1)", B2: "remembered, seen more often (B2)",
  A1in: "new (A1in)", A1out: "remembered (A1out)", Am: "used again (Am)",
  LIR: "often used (LIR)", Q: "next to leave (Q)", S: "by recency (S)", M: "main (M)", G: "remembered (G)",
  R: "read only (R)", W1: "written once (W1)", W2: "written again (W2)",
  gR: "remembered of R", gW1: "remembered of W1", gW2: "remembered of W2",
  S_R: "room of R", S_W1: "room of W1", S_W2: "room of W2", ghost_R_hits: "hits on remembered R", turn: "whose turn it is",
  p: "room of T1 (p)", m_c: "room of cold pages", max_seq: "newest generation", min_seq: "oldest generation",
};
const inWords = (name) => WORDS[name] ?? name.replaceAll("_", " ");

const plural = (pages, word = "page") => (pages.length === 1 ? word : `${word}s`);

// ---- what follows from the steps -------------------------------------------------------------

function isAdaptation(steps, at) {
  return at > 0 && steps[at].values.some(([, value], place) => value !== steps[at - 1].values[place]?.[1]);
}

// Totals up to and with each step; `add` adds a step to the sums.
function totals(steps, sums, add) {
  return steps.map((step, at) => {
    add(sums, step, at);
    return { ...sums };
  });
}

// A ring is shown from what is under the hand. Members keep their places on the circle from step to step, and the hand
// turns: of each ring and step, the place of its first member.
function turns(steps, membersOf) {
  const placesBefore = new Map();
  return steps.map((step) => {
    const turned = new Map();
    for (const list of step.lists.filter((one) => one.kind === "ring")) {
      const members = membersOf(list);
      const size = members.length;
      const before = placesBefore.get(list.name) ?? new Map();
      const votes = new Map();
      members.forEach((member, place) => {
        if (!before.has(member) || size === 0) return;
        const turn = (((before.get(member) - place) % size) + size) % size;
        votes.set(turn, (votes.get(turn) ?? 0) + 1);
      });
      let best = 0;
      for (const [turn, count] of votes) if (count > (votes.get(best) ?? 0)) best = turn;
      turned.set(list.name, best);
      placesBefore.set(list.name, new Map(members.map((member, place) => [member, (place + best) % size])));
    }
    return turned;
  });
}

function changedValues(steps, at) {
  if (at === 0) return [];
  const before = steps[at - 1].values;
  return steps[at].values
    .filter(([, value], place) => value !== before[place]?.[1])
    .map(([name, value]) => `${inWords(name)} ${number(before.find(([one]) => one === name)?.[1])} → ${number(value)}`);
}

// ---- drawing ---------------------------------------------------------------------------------

// Coordinates in percent of the ring's box, the first place on top.
function onCircle(place, size, radius) {
  const angle = (2 * Math.PI * place) / size - Math.PI / 2;
  return [50 + radius * Math.cos(angle), 50 + radius * Math.sin(angle)];
}

function handTo(place, size) {
  const [x, y] = onCircle(place, size, 33);
  const [left, right] = [-0.5, 0.5].map((side) => {
    const angle = (2 * Math.PI * place) / size - Math.PI / 2 + side * 0.22;
    return `${50 + 27 * Math.cos(angle)},${50 + 27 * Math.sin(angle)}`;
  });
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawing.setAttribute("viewBox", "0 0 100 100");
  drawing.setAttribute("aria-hidden", "true");
  drawing.innerHTML = `<line x1="50" y1="50" x2="${x}" y2="${y}"/><polygon points="${x},${y} ${left} ${right}"/>`;
  return drawing;
}

// `tiles` in the order of the list, the one under the hand first.
function ring(tiles, turn) {
  const size = tiles.length;
  const around = element("div", { class: "ring", style: `--diameter: ${Math.max(8, 0.95 * size + 3)}rem` });
  around.append(handTo(turn, size));
  tiles.forEach((one, place) => {
    const [x, y] = onCircle((place + turn) % size, size, 43);
    one.style.left = `${x}%`;
    one.style.top = `${y}%`;
    around.append(one);
  });
  return around;
}

function row(tiles) {
  const line = element("div", { class: "row" }, ...tiles);
  if (tiles.length === 0) line.append(element("span", { class: "note" }, "empty"));
  return line;
}

function annotate(one, list, place) {
  for (const [name, values] of list.numbers) {
    one.title += `; ${inWords(name)} ${number(values[place])}`;
  }
  if (list.numbers.length > 0) {
    const [, values] = list.numbers[list.numbers.length - 1];
    one.append(element("small", {}, number(values[place])));
  }
}

function shownList(list, tiles, turn) {
  const isRing = list.kind === "ring" && tiles.length > 0 && tiles.length <= MOST_IN_A_RING;
  const title = element("h3", {}, `${inWords(list.name)} · ${tiles.length}`);
  if (tiles.length === 0) return element("section", { class: "listed" }, title);
  return element("section", { class: isRing ? "listed round" : "listed" }, title, isRing ? ring(tiles, turn) : row(tiles));
}

function definitions(entries) {
  return element("dl", {}, ...entries.map(([name, value, changed]) =>
    element("div", {}, element("dt", {}, name), element("dd", changed ? { class: "changed" } : {}, value))));
}

function shownCounts(counts) {
  return definitions(counts.map(([name, value]) => [name, value.toLocaleString("en"), false]));
}

function shownValues(steps, at) {
  const before = at > 0 ? steps[at - 1].values : steps[at].values;
  return definitions(steps[at].values.map(([name, value], place) => [inWords(name), number(value), value !== before[place]?.[1]]));
}

// ---- the whole run ---------------------------------------------------------------------------

const STRIP_HEIGHT = 9;

function drawing(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Of each course, where what can be jumped to happens: a row of strokes each, which a click leads to.
function strip(view, go) {
  const kinds = Object.keys(view.tests).slice(0, 2);
  return courses.map((course) => {
    const found = kinds.map((kind) =>
      Array.from({ length: view.steps }, (_, at) => at).filter((at) => view.tests[kind](course, at)));
    const rows = found.map((ats, place) => {
      const strokes = ats.map((at) => `M${at + 0.5},${place * STRIP_HEIGHT}v${STRIP_HEIGHT - 2}`);
      return drawing("path", { d: strokes.join(""), class: `kind-${place}`, "vector-effect": "non-scaling-stroke" });
    });
    const height = kinds.length * STRIP_HEIGHT;
    const here = drawing("line", { class: "here", y1: 0, y2: height, "vector-effect": "non-scaling-stroke" });
    const whole = drawing("svg", { viewBox: `0 0 ${view.steps} ${height}`, preserveAspectRatio: "none" }, ...rows, here);
    whole.addEventListener("click", (event) => {
      const box = whole.getBoundingClientRect();
      go(Math.floor(((event.clientX - box.left) / box.width) * view.steps));
    });
    const names = kinds.map((kind, place) => element("span", { class: `kind-${place}` }, `${kind} ${found[place].length}`));
    return element("div", { class: "strip" }, element("span", { class: "note" }, course.name, " ", ...names), whole);
  });
}

// The first step with the second of what can be jumped to, which is when memory is full; else the middle one of the first.
function eventful(view) {
  const [miss, written] = Object.values(view.tests);
  const any = (test, at) => courses.some((course) => test(course, at));
  const steps = Array.from({ length: view.steps }, (_, at) => at);
  const misses = steps.filter((at) => any(miss, at));
  return steps.find((at) => any(written, at)) ?? misses[misses.length >> 1] ?? 0;
}

// ---- moving ----------------------------------------------------------------------------------

// Starts the player. `view` has `word`, what a step is called; `steps`, how many there are; `short(at)` and `long(at)`,
// what was asked; `missed(course, at)`; `tests`, by what can be jumped to; `sentence(course, at)`; `drawn(course, at)`.
function start(view) {
  const last = view.steps - 1;
  let shown = 0;
  let timer = null;

  function drawReferences(at) {
    const fits = Math.floor($("references").clientWidth / REFERENCE_WIDTH / 2 - 0.5);
    const around = Math.max(1, Math.min(MOST_AROUND, fits));
    const from = Math.max(0, Math.min(at - around, last - 2 * around));
    const places = Array.from({ length: Math.min(2 * around, last) + 1 }, (_, place) => from + place);
    $("references").replaceChildren(...places.map((place) => {
      const missed = courses.some((course) => view.missed(course, place));
      const classes = [missed && place <= at ? "miss" : "", place > at ? "later" : ""].join(" ").trim();
      const button = element("button", {
        type: "button", class: classes || null, "aria-current": place === at ? "step" : null,
        "aria-label": `${view.word} ${place + 1}: ${view.long(place)}`, tabindex: place === at ? "0" : "-1",
      }, view.short(place), element("small", {}, String(place + 1)));
      button.addEventListener("click", () => { stop(); show(place); });
      return element("li", {}, button);
    }));
  }

  function show(at) {
    shown = Math.max(0, Math.min(last, at));
    $("position").value = shown;
    $("count").textContent = `${(shown + 1).toLocaleString("en")} of ${(last + 1).toLocaleString("en")}`;
    drawReferences(shown);
    const what = `${view.word} ${shown + 1}, a ${view.long(shown)}.`;
    $("said").textContent = [what, ...courses.map((course) => view.sentence(course, shown))].join(" ");
    $("courses").replaceChildren(...courses.map((course) => view.drawn(course, shown)));
    for (const here of document.querySelectorAll("#strip .here")) {
      here.setAttribute("x1", shown + 0.5);
      here.setAttribute("x2", shown + 0.5);
    }
    $("link").setAttribute("href", `#${shown + 1}`);
  }

  // The step that the address names, as `#12`.
  function linked() {
    const named = Number(location.hash.slice(1));
    return Number.isInteger(named) && named >= 1 ? named - 1 : null;
  }

  function jump(what, direction) {
    for (let at = shown + direction; at >= 0 && at <= last; at += direction) {
      if (courses.some((course) => view.tests[what](course, at))) return show(at);
    }
    $("said").textContent = `There is no ${what} ${direction > 0 ? "after" : "before"} ${view.word.toLowerCase()} ${shown + 1}.`;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    $("play").textContent = "Play";
    $("play").setAttribute("aria-pressed", "false");
  }

  function play() {
    if (shown === last) show(0);
    $("play").textContent = "Stop";
    $("play").setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      if (shown >= last) return stop();
      show(shown + 1);
    }, 1000 / Number($("speed").value));
  }

  const toggle = () => (timer === null ? play() : stop());
  const go = (place) => { stop(); show(place()); };
  const places = { first: () => 0, back: () => shown - 1, step: () => shown + 1, last: () => last };
  const keys = {
    " ": toggle,
    ArrowRight: () => go(places.step), ArrowLeft: () => go(places.back),
    Home: () => go(places.first), End: () => go(places.last),
  };
  for (const button of document.querySelectorAll("[data-jump]")) {
    const { jump: what, key } = button.dataset;
    button.addEventListener("click", () => { stop(); jump(what, 1); });
    keys[key] = () => { stop(); jump(what, 1); };
    keys[key.toUpperCase()] = () => { stop(); jump(what, -1); };
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    // A button that has the focus is pressed by space itself.
    if (event.key === " " && event.target.matches("button")) return;
    const action = keys[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  for (const button of document.querySelectorAll("[data-go]")) {
    button.addEventListener("click", () => go(places[button.dataset.go]));
  }
  $("play").addEventListener("click", toggle);
  $("speed").addEventListener("change", () => { if (timer !== null) { stop(); play(); } });
  $("position").max = last;
  $("position").addEventListener("input", () => go(() => Number($("position").value)));
  addEventListener("resize", () => drawReferences(shown));
  $("strip").replaceChildren(...strip(view, (at) => go(() => at)));
  addEventListener("hashchange", () => { if (linked() !== null && linked() !== shown) go(linked); });
  show(linked() ?? eventful(view));
}
