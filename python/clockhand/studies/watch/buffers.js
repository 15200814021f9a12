// Write buffers of drives: pages in DRAM and NVM, batches to flash.

const MEMORY = { dram: "DRAM", nvm: "NVM" };
const SOURCES = { dram: "", nvm: "", flash: " (read from flash first)", request: " (as it came)" };
const ASKED = {
  read: ["R", "read of"], write: ["W", "write of"], fua: ["FUA", "write with forced unit access of"],
  trim: ["TRIM", "TRIM of"], flush: ["FLUSH", "FLUSH"], drain: ["drain", "drain at the end"],
};
const MOST_NAMED = 12;

const blockOf = (page) => Math.floor(page / about.pages_per_block);
const blockPlaces = new Map(about.blocks.map((block, place) => [block, place]));
const blockLabel = (block) => String(about.own_numbers ? block : blockPlaces.get(block));
const label = (page) =>
  about.own_numbers ? String(page) : `${blockLabel(blockOf(page))}.${page % about.pages_per_block}`;

function listed(pages) {
  const named = pages.slice(0, MOST_NAMED).map(label).join(", ");
  return pages.length > MOST_NAMED ? `${named} and ${pages.length - MOST_NAMED} more` : named;
}

const flushes = (step) => step.events.filter((event) => event.action === "flush");

function counted(sum, step, at) {
  const [asked] = about.requests[at];
  if (asked === "read") sum[step.hit === null ? "read_misses" : "read_hits"] += 1;
  if (asked === "write" || asked === "fua") sum[step.hit === null ? "write_misses" : "write_hits"] += 1;
  sum.batches += flushes(step).length;
  sum.to_flash += step.drive.host_writes;
  sum.programs += step.drive.flash_programs;
  sum.erases += step.drive.erases;
  sum.nvm_writes += step.nvm_writes;
}

const NONE = {
  read_hits: 0, read_misses: 0, write_hits: 0, write_misses: 0, batches: 0, to_flash: 0, programs: 0, erases: 0,
  nvm_writes: 0,
};
const members = (list) => list.blocks?.map(([block]) => block) ?? list.pages.map(([page]) => page);

for (const course of courses) {
  course.totals = totals(course.steps, { ...NONE }, counted);
  course.turns = turns(course.steps, members);
}

// ---- sentences -------------------------------------------------------------------------------

// The reference bits of pages and blocks, by their names in sentences, and all pages that are held.
function bits(step) {
  const [set, held] = [new Map(), new Map()];
  for (const list of step.lists.filter((one) => one.kind !== "ghosts")) {
    for (const [page, state] of list.pages) {
      set.set(`page ${label(page)}`, (state & READ) !== 0);
      held.set(page, list.memory);
    }
    for (const [block, referenced, pages] of list.blocks ?? []) {
      set.set(`block ${blockLabel(block)}`, referenced);
      for (const [page] of pages) if (!held.has(page)) held.set(page, list.memory);
    }
  }
  return { set, held };
}

function cleared(before, after) {
  return [...after.set].filter(([name, isSet]) => !isSet && before.set.get(name)).map(([name]) => name);
}

function told(event) {
  const pages = event.pages.map(([page]) => page);
  if (event.action === "migrate") return `page ${listed(pages)} migrates from DRAM to NVM`;
  if (event.action === "drop") return `${plural(pages)} ${listed(pages)} dropped clean`;
  const sources = new Set(event.pages.map(([, , source]) => source));
  const clean = event.pages.filter(([, dirty]) => !dirty).length;
  const padded = sources.has("dram") && sources.has("nvm") ? event.pages.filter(([, , source]) => source === "dram") : [];
  const parts = [`block ${blockLabel(blockOf(pages[0]))} goes to flash as one batch: ${plural(pages)} ${listed(pages)}`];
  if (padded.length > 0) parts.push(`${padded.length} of them from DRAM`);
  if (clean > 0) parts.push(`${clean} of them clean${sources.has("flash") ? ", read from flash first" : ""}`);
  if (sources.has("request")) parts.push("written through");
  return parts.join(", ");
}

function came(asked, page, step, before, after) {
  if (page === null || asked === "trim") return [];
  if (!before.held.has(page) && after.held.has(page)) return [`page ${label(page)} comes into ${MEMORY[after.held.get(page)]}`];
  return asked === "read" && step.hit === null ? [`page ${label(page)} is read from flash and not kept`] : [];
}

function sentence(course, at) {
  const step = course.steps[at];
  const [asked, page] = about.requests[at];
  const [before, after] = [at > 0 ? bits(course.steps[at - 1]) : { set: new Map(), held: new Map() }, bits(step)];
  const parts = [];
  if (page !== null) parts.push(step.hit === null ? "miss" : `hit in ${MEMORY[step.hit]}`);
  const passed = cleared(before, after);
  if (passed.length > 0) parts.push(`clears the reference bit of ${passed.join(", ")}`);
  parts.push(...step.events.map(told), ...came(asked, page, step, before, after));
  const { erases, flash_programs: programs, host_writes: given } = step.drive;
  if (programs > given) parts.push(`the drive moves ${programs - given} ${programs - given === 1 ? "page" : "pages"} of its own`);
  if (erases > 0) parts.push(`the drive erases ${erases} ${erases === 1 ? "block" : "blocks"}`);
  parts.push(...changedValues(course.steps, at));
  if (parts.length === 0) parts.push("nothing happens");
  return `${course.name}: ${parts.join("; ")}.`;
}

// ---- drawing ---------------------------------------------------------------------------------

function tile(page, state, at, extra = "", isGhost = false) {
  const classes = ["tile", extra];
  if (isGhost) classes.push("ghost");
  if (state & READ) classes.push("r");
  if (state & DIRTY) classes.push("d");
  if (page === about.requests[at][1]) classes.push("now");
  const told = isGhost ? "not buffered" : [state & READ ? "reference bit" : "", state & DIRTY ? "dirty" : "clean"];
  const address = `0x${(page * about.page_bytes).toString(16)}`;
  const title = `page ${label(page)}, ${address} on the drive: ${[told].flat().filter(Boolean).join(", ")}`;
  return element("span", { class: classes.join(" "), title }, label(page));
}

function pageTiles(list, at) {
  const isGhosts = list.kind === "ghosts";
  return list.pages.map(([page, state], place) => {
    const one = tile(page, state, at, place === 0 && !isGhosts ? "first" : "", isGhosts);
    annotate(one, list, place);
    return one;
  });
}

// Blocks in one row. Those of a ring keep their places, and the hand goes on among them.
function blocks(list, turn, at) {
  const size = list.blocks.length;
  const order = list.blocks.map((_, place) => (list.kind === "ring" ? (place - turn + size) % size : place));
  const boxes = order.map((place) => {
    const [block, referenced, pages] = list.blocks[place];
    const isFirst = place === 0;
    const title = element("span", { class: "name" }, `${isFirst ? "▸ " : ""}block ${blockLabel(block)}`);
    const classes = ["block", referenced ? "r" : "", isFirst ? "first" : ""].join(" ").trim();
    return element("span", { class: classes, title: referenced ? "reference bit" : null }, title,
      element("span", { class: "pages" }, ...pages.map(([page, state]) => tile(page, state, at))));
  });
  return element("section", { class: "listed" }, element("h3", {}, `${inWords(list.name)} · ${size}`), row(boxes));
}

function departures(step, at) {
  const lines = step.events.map((event) => {
    const to = { flush: "→ flash", migrate: "→ NVM", drop: "dropped" }[event.action];
    const pages = event.pages.map(([page, dirty, source]) => {
      const one = tile(page, dirty ? DIRTY : 0, at);
      one.title += SOURCES[source];
      return one;
    });
    return element("div", { class: `row departing ${event.action}` }, element("strong", {}, to), ...pages);
  });
  if (lines.length === 0) lines.push(element("div", { class: "row departing" }, element("span", { class: "note" }, "nothing leaves")));
  return element("section", { class: "listed departures" }, element("h3", {}, "before the request is served"), ...lines);
}

function memories(course, at) {
  const step = course.steps[at];
  return ["dram", "nvm"].filter((memory) => course[`${memory}_capacity`] > 0).map((memory) => {
    const [held, room] = [step[`${memory}_pages`], course[`${memory}_capacity`]];
    const lists = step.lists.filter((list) => list.memory === memory).map((list) => {
      const turn = course.turns[at].get(list.name);
      return list.blocks === null ? shownList(list, pageTiles(list, at), turn) : blocks(list, turn, at);
    });
    const title = element("h3", {}, `${MEMORY[memory]}: ${held} of ${room} ${room === 1 ? "page" : "pages"}`);
    return element("section", { class: `memory ${memory}` }, title, element("div", { class: "lists" }, ...lists));
  });
}

function drawn(course, at) {
  const [step, sum] = [course.steps[at], course.totals[at]];
  const counts = [["read hits", sum.read_hits], ["write hits", sum.write_hits], ["pages to flash", sum.to_flash],
    ["batches", sum.batches]];
  if (course.nvm_capacity > 0) counts.push(["NVM writes", sum.nvm_writes]);
  counts.push(["flash programs", sum.programs], ["erases", sum.erases], ["dirty now", step.dirty_pages]);
  const article = element("article", { class: "course" }, element("h2", {}, course.name), shownCounts(counts),
    departures(step, at), ...memories(course, at));
  if (step.values.length > 0) article.append(shownValues(course.steps, at));
  return article;
}

const asksForPage = (at) => about.requests[at][1] !== null && about.requests[at][0] !== "trim";

start({
  word: "Request",
  steps: about.requests.length,
  short: (at) => [ASKED[about.requests[at][0]][0], about.requests[at][1] === null ? "" : label(about.requests[at][1])].join(" ").trim(),
  long: (at) => ASKED[about.requests[at][0]][1] + (about.requests[at][1] === null ? "" : ` page ${label(about.requests[at][1])}`),
  missed: (course, at) => asksForPage(at) && course.steps[at].hit === null,
  tests: {
    miss: (course, at) => asksForPage(at) && course.steps[at].hit === null,
    "batch to flash": (course, at) => flushes(course.steps[at]).length > 0,
    "write to NVM": (course, at) => course.steps[at].nvm_writes > 0,
    erase: (course, at) => course.steps[at].drive.erases > 0,
  },
  sentence,
  drawn,
});
