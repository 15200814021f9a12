"use strict";
// Plays the steps of policies: every step holds the whole state, so that any step can be shown at once.

const { about, courses } = JSON.parse(document.getElementById("report-data").textContent);
const READ = 1, WRITE = 2, DIRTY = 4;
const MOST_IN_A_RING = 40;
const MOST_AROUND = 8;
const REFERENCE_WIDTH = 44;
const last = about.references.length - 1;
let shown = 0;
let timer = null;

const $ = (identity) => document.getElementById(identity);
const label = (page) => about.labels[page];

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// ---- what follows from the steps -------------------------------------------------------------

function written(step) {
  return step.written_back.length + step.left.filter(([, dirty]) => dirty).length;
}

function isAdaptation(steps, at) {
  return at > 0 && steps[at].values.some(([, value], place) => value !== steps[at - 1].values[place]?.[1]);
}

// Totals up to and with each step.
function totals(steps) {
  const all = [];
  const sum = { hits: 0, misses: 0, read: 0, written: 0, examined: 0 };
  steps.forEach((step, at) => {
    const isWrite = about.references[at][1] === 1;
    if (step.hit) sum.hits += 1;
    else {
      sum.misses += 1;
      if (!(isWrite && about.blind)) sum.read += 1;
    }
    sum.written += written(step);
    sum.examined += step.examined;
    all.push({ ...sum });
  });
  return all;
}

// A ring is shown from the page under the hand. Pages keep their places on the circle from step to step, and the hand
// turns: of each ring and step, the place of its first page.
function turns(steps) {
  const placesBefore = new Map();
  return steps.map((step) => {
    const turned = new Map();
    for (const list of step.lists.filter((one) => one.kind === "ring")) {
      const size = list.pages.length;
      const before = placesBefore.get(list.name) ?? new Map();
      const votes = new Map();
      list.pages.forEach((page, place) => {
        if (!before.has(page) || size === 0) return;
        const turn = (((before.get(page) - place) % size) + size) % size;
        votes.set(turn, (votes.get(turn) ?? 0) + 1);
      });
      let best = 0;
      for (const [turn, count] of votes) if (count > (votes.get(best) ?? 0)) best = turn;
      turned.set(list.name, best);
      placesBefore.set(list.name, new Map(list.pages.map((page, place) => [page, (place + best) % size])));
    }
    return turned;
  });
}

for (const course of courses) {
  course.totals = totals(course.steps);
  course.turns = turns(course.steps);
}

// ---- sentences -------------------------------------------------------------------------------

const listed = (pages) => pages.map(label).join(", ");
const plural = (pages) => (pages.length === 1 ? "page" : "pages");

// Pages that stayed and lost a bit.
function cleared(course, at) {
  if (at === 0) return [];
  const before = new Map(course.steps[at - 1].frames.map(([, page, state]) => [page, state]));
  const lost = ([, page, state]) => (before.get(page) ?? 0) & (READ | WRITE) & ~state;
  return course.steps[at].frames.filter(lost).map(([, page]) => page);
}

function sentence(course, at) {
  const step = course.steps[at];
  const page = about.references[at][0];
  const parts = [];
  if (step.hit) parts.push("hit");
  else {
    parts.push("miss");
    if (step.examined > 0) parts.push(`looks at ${step.examined} ${step.examined === 1 ? "frame" : "frames"}`);
  }
  const passed = cleared(course, at).filter((one) => one !== page);
  if (passed.length > 0) parts.push(`clears bits of ${plural(passed)} ${listed(passed)}`);
  if (step.written_back.length > 0) {
    parts.push(`${plural(step.written_back)} ${listed(step.written_back)} written, and stays in memory`);
  }
  for (const [left, dirty] of step.left) {
    parts.push(`page ${label(left)} leaves${dirty ? " dirty and is written" : " clean"}`);
  }
  if (!step.hit) parts.push(`page ${label(page)} comes in`);
  if (at > 0) {
    step.values.forEach(([name, value], place) => {
      const before = course.steps[at - 1].values[place]?.[1];
      if (value !== before) parts.push(`${name} ${number(before)} → ${number(value)}`);
    });
  }
  return `${course.name}: ${parts.join("; ")}.`;
}

function number(value) {
  if (value === undefined) return "–";
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

// ---- drawing ---------------------------------------------------------------------------------

function tile(page, state, at, extra = "") {
  const classes = ["tile", extra];
  if (state === null) classes.push("ghost");
  else {
    if (state & READ) classes.push("r");
    if (state & WRITE) classes.push("w");
    if (state & DIRTY) classes.push("d");
  }
  if (page === about.references[at][0]) classes.push("now");
  const bits = state === null ? "not in memory" : [
    state & READ ? "read bit" : "", state & WRITE ? "write bit" : "", state & DIRTY ? "dirty" : "clean",
  ].filter(Boolean).join(", ");
  const title = `page ${label(page)}, ${about.addresses[page]}: ${bits}`;
  return element("span", { class: classes.join(" "), title }, label(page));
}

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

function ring(list, turn, states, at) {
  const size = list.pages.length;
  const around = element("div", { class: "ring", style: `--diameter: ${Math.max(8, 0.95 * size + 3)}rem` });
  around.append(handTo(turn, size));
  list.pages.forEach((page, place) => {
    const one = tile(page, states.get(page) ?? null, at, place === 0 ? "first" : "");
    const [x, y] = onCircle((place + turn) % size, size, 43);
    one.style.left = `${x}%`;
    one.style.top = `${y}%`;
    annotate(one, list, place);
    around.append(one);
  });
  return around;
}

function annotate(one, list, place) {
  for (const [name, values] of list.numbers) {
    one.title += `; ${name} ${number(values[place])}`;
  }
  if (list.numbers.length > 0) {
    const [, values] = list.numbers[list.numbers.length - 1];
    one.append(element("small", {}, number(values[place])));
  }
}

function row(list, states, at) {
  const line = element("div", { class: "row" });
  list.pages.forEach((page, place) => {
    const state = states.get(page) ?? null;
    const isFirst = place === 0 && list.kind !== "ghosts";
    const one = tile(page, state, at, isFirst ? "first" : "");
    annotate(one, list, place);
    line.append(one);
  });
  if (list.pages.length === 0) line.append(element("span", { class: "note" }, "empty"));
  return line;
}

function drawn(course, at) {
  const step = course.steps[at];
  const states = new Map(step.frames.map(([, page, state]) => [page, state]));
  const article = element("article", { class: "course" }, element("h2", {}, course.name));
  const sum = course.totals[at];
  const counts = [["hits", sum.hits], ["misses", sum.misses], ["pages read", sum.read], ["pages written", sum.written],
    ["frames examined", sum.examined]];
  article.append(definitions(counts.map(([name, value]) => [name, value.toLocaleString("en"), false])));
  const lists = element("div", { class: "lists" });
  article.append(lists);
  for (const list of step.lists) {
    const isRing = list.kind === "ring" && list.pages.length > 0 && list.pages.length <= MOST_IN_A_RING;
    const body = isRing ? ring(list, course.turns[at].get(list.name), states, at) : row(list, states, at);
    const count = `${list.name} · ${list.pages.length}`;
    lists.append(element("section", { class: isRing ? "listed round" : "listed" }, element("h3", {}, count), body));
  }
  if (step.values.length > 0) {
    const before = at > 0 ? course.steps[at - 1].values : step.values;
    article.append(definitions(step.values.map(([name, value], place) =>
      [name, number(value), value !== before[place]?.[1]])));
  }
  return article;
}

function definitions(entries) {
  return element("dl", {}, ...entries.map(([name, value, changed]) =>
    element("div", {}, element("dt", {}, name), element("dd", changed ? { class: "changed" } : {}, value))));
}

function drawReferences(at) {
  const fits = Math.floor($("references").clientWidth / REFERENCE_WIDTH / 2 - 0.5);
  const around = Math.max(1, Math.min(MOST_AROUND, fits));
  const from = Math.max(0, Math.min(at - around, last - 2 * around));
  const places = Array.from({ length: Math.min(2 * around, last) + 1 }, (_, place) => from + place);
  $("references").replaceChildren(...places.map((place) => {
    const [page, isWrite] = about.references[place];
    const missed = courses.some((course) => !course.steps[place].hit);
    const classes = [missed && place <= at ? "miss" : "", place > at ? "later" : ""].join(" ").trim();
    const words = `${isWrite ? "write" : "read"} of page ${label(page)}`;
    const button = element("button", {
      type: "button", class: classes || null, "aria-current": place === at ? "step" : null,
      "aria-label": `Reference ${place + 1}: ${words}`, tabindex: place === at ? "0" : "-1",
    }, `${isWrite ? "W" : "R"} ${label(page)}`, element("small", {}, String(place + 1)));
    button.addEventListener("click", () => show(place));
    return element("li", {}, button);
  }));
}

function show(at) {
  shown = Math.max(0, Math.min(last, at));
  const [page, isWrite] = about.references[shown];
  $("position").value = shown;
  $("count").textContent = `${(shown + 1).toLocaleString("en")} of ${(last + 1).toLocaleString("en")}`;
  drawReferences(shown);
  const what = `Reference ${shown + 1}, a ${isWrite ? "write" : "read"} of page ${label(page)}.`;
  $("said").textContent = [what, ...courses.map((course) => sentence(course, shown))].join(" ");
  $("courses").replaceChildren(...courses.map((course) => drawn(course, shown)));
}

// ---- moving ----------------------------------------------------------------------------------

const TESTS = {
  miss: (course, at) => !course.steps[at].hit,
  write: (course, at) => written(course.steps[at]) > 0,
  adaptation: (course, at) => isAdaptation(course.steps, at),
};

function jump(what, direction) {
  for (let at = shown + direction; at >= 0 && at <= last; at += direction) {
    if (courses.some((course) => TESTS[what](course, at))) return show(at);
  }
  $("said").textContent = `There is no ${what === "write" ? "page written" : what} ${direction > 0 ? "after" : "before"} reference ${shown + 1}.`;
}

const GO = { first: () => 0, back: () => shown - 1, step: () => shown + 1, last: () => last };

function stop() {
  clearInterval(timer);
  timer = null;
  $("play").textContent = "Play";
  $("play").setAttribute("aria-pressed", "false");
}

function play() {
  if (shown === last) addEventListener("resize", () => drawReferences(shown));
show(0);
  $("play").textContent = "Stop";
  $("play").setAttribute("aria-pressed", "true");
  timer = setInterval(() => {
    if (shown >= last) return stop();
    show(shown + 1);
  }, 1000 / Number($("speed").value));
}

function toggle() {
  if (timer === null) play();
  else stop();
}

const KEYS = {
  " ": toggle,
  ArrowRight: () => { stop(); show(shown + 1); },
  ArrowLeft: () => { stop(); show(shown - 1); },
  Home: () => { stop(); show(0); },
  End: () => { stop(); show(last); },
  f: () => jump("miss", 1), F: () => jump("miss", -1),
  w: () => jump("write", 1), W: () => jump("write", -1),
  a: () => jump("adaptation", 1), A: () => jump("adaptation", -1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
  // A button that has the focus is pressed by space itself.
  if (event.key === " " && event.target.matches("button")) return;
  const action = KEYS[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
});
for (const button of document.querySelectorAll("[data-go]")) {
  button.addEventListener("click", () => { stop(); show(GO[button.dataset.go]()); });
}
for (const button of document.querySelectorAll("[data-jump]")) {
  button.addEventListener("click", () => { stop(); jump(button.dataset.jump, 1); });
}
$("play").addEventListener("click", toggle);
$("speed").addEventListener("change", () => { if (timer !== null) { stop(); play(); } });
$("position").max = last;
$("position").addEventListener("input", () => { stop(); show(Number($("position").value)); });
addEventListener("resize", () => drawReferences(shown));
show(0);
