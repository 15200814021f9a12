// Page policies: pages in frames, with read and write bits.

const label = (page) => about.labels[page];
const listed = (pages) => pages.map(label).join(", ");

function written(step) {
  return step.written_back.length + step.left.filter(([, dirty]) => dirty).length;
}

function counted(sum, step, at) {
  const isWrite = about.references[at][1] === 1;
  if (step.hit) sum.hits += 1;
  else {
    sum.misses += 1;
    if (!(isWrite && about.blind)) sum.read += 1;
  }
  sum.written += written(step);
  sum.examined += step.examined;
}

for (const course of courses) {
  course.totals = totals(course.steps, { hits: 0, misses: 0, read: 0, written: 0, examined: 0 }, counted);
  course.turns = turns(course.steps, (list) => list.pages);
}

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
  parts.push(...changedValues(course.steps, at));
  return `${course.name}: ${parts.join("; ")}.`;
}

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

function tiles(list, states, at) {
  return list.pages.map((page, place) => {
    const isFirst = place === 0 && list.kind !== "ghosts";
    const one = tile(page, states.get(page) ?? null, at, isFirst ? "first" : "");
    annotate(one, list, place);
    return one;
  });
}

function drawn(course, at) {
  const step = course.steps[at];
  const states = new Map(step.frames.map(([, page, state]) => [page, state]));
  const sum = course.totals[at];
  const article = element("article", { class: "course" }, element("h2", {}, course.name), shownCounts([
    ["hits", sum.hits], ["misses", sum.misses], ["pages read", sum.read], ["pages written", sum.written],
    ["frames examined", sum.examined],
  ]));
  const lists = step.lists.map((list) => shownList(list, tiles(list, states, at), course.turns[at].get(list.name)));
  article.append(element("div", { class: "lists" }, ...lists));
  if (step.values.length > 0) article.append(shownValues(course.steps, at));
  return article;
}

start({
  word: "Reference",
  steps: about.references.length,
  short: (at) => `${about.references[at][1] ? "W" : "R"} ${label(about.references[at][0])}`,
  long: (at) => `${about.references[at][1] ? "write" : "read"} of page ${label(about.references[at][0])}`,
  missed: (course, at) => !course.steps[at].hit,
  tests: {
    miss: (course, at) => !course.steps[at].hit,
    "page written": (course, at) => written(course.steps[at]) > 0,
    adaptation: (course, at) => isAdaptation(course.steps, at),
  },
  sentence,
  drawn,
});
