/* The data is gzipped JSON in base64, since it would be most of the page otherwise: each part's figures, then tables. */
const packed = document.getElementById("report-data").textContent.split(".");

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(unzipped).text());
}

/* Records and rows are packed column by column. Records that are made alike take a third of the memory. */
function recordsOf(columns) {
  const names = Object.keys(columns);
  const count = names.length === 0 ? 0 : columns[names[0]].length;
  return Array.from({ length: count }, (_, place) => {
    const record = {};
    for (const name of names) {
      if (columns[name][place] !== null) record[name] = columns[name][place];
    }
    return record;
  });
}

/* A part of the page, whose figures and rows are unpacked when one of them is drawn. */
function partAt(place) {
  const part = { content: null };
  let unpacking;
  part.unpacked = () => (unpacking ??= unpack(packed[place]).then((content) => {
    let records;
    const rows = () => (records ??= recordsOf(content.rows));
    const figures = new Map(content.figures.map((figure) => [figure.identity, figure]));
    return (part.content = { figures, rows });
  }));
  return part;
}

function rowsOf(columns) {
  return (columns[0] ?? []).map((_, place) => columns.map((column) => column[place]));
}

function drawnInto(identity) {
  return document.querySelector(`[data-figure="${CSS.escape(identity)}"]`);
}

/* A figure that cannot be drawn says so in its place: an empty box would read as "no data". */
function showProblem(identity, error) {
  const message = document.createElement("p");
  message.className = "problem";
  message.setAttribute("role", "alert");
  message.textContent = `This figure could not be drawn: ${error.message ?? error}. The table below holds its numbers.`;
  drawnInto(identity).replaceChildren(message);
  console.error(`figure ${identity}:`, error);
}

/* Names at the ends of lines take a third of a narrow figure: the legend names them too. */
const WIDE = 480;

function fitted(specification, width) {
  if (width >= WIDE) return specification;
  return { ...specification, marks: specification.marks.filter((mark) => !mark.name?.startsWith("label")) };
}

/* Vega is text until the first figure is drawn: what a reader sees first seldom needs it. */
function runVega() {
  const text = document.getElementById("library");
  if (text === null) return;
  const script = document.createElement("script");
  script.textContent = text.textContent;
  text.replaceWith(script);
}

async function draw(figure, place, rows) {
  let view;
  try {
    runVega();
    place.replaceChildren();
    view = new vega.View(vega.parse(fitted(figure.specification, place.clientWidth)), {
      container: place,
      renderer: "svg",
      tooltip: showNumbers,
    });
    if (figure.specification.data.some((data) => data.name === "rows")) view.data("rows", rows());
    await view.runAsync();
    /* While it is out of sight it is not laid out, and takes as much room all the same. */
    place.style.containIntrinsicHeight = `${place.querySelector("svg").getAttribute("height")}px`;
    offerToSave(figure, place, view);
    return view;
  } catch (error) {
    view?.finalize();
    showProblem(figure.identity, error);
    return null;
  } finally {
    place.style.minHeight = "";
  }
}

/* What a point tells stands beside the pointer: a line per number. */
const numbers = document.createElement("table");
numbers.className = "numbers-tip";
numbers.hidden = true;
document.body.append(numbers);

function showNumbers(_, event, item, told) {
  numbers.hidden = told === null || told === undefined || told === "";
  if (numbers.hidden) return;
  const lines = typeof told === "object" ? Object.entries(told) : [["", told]];
  numbers.replaceChildren();
  for (const [name, value] of lines) {
    const line = numbers.insertRow();
    line.insertCell().textContent = name;
    line.insertCell().textContent = value;
  }
  placeBeside(numbers, event);
}

/* To the right of the pointer and below it, or where there is room. */
function placeBeside(tip, event) {
  const room = [window.innerWidth - tip.offsetWidth - 8, window.innerHeight - tip.offsetHeight - 8];
  const left = Math.max(8, Math.min(event.clientX + 14, room[0]));
  const below = event.clientY + 14;
  const top = below <= room[1] ? below : Math.max(8, event.clientY - tip.offsetHeight - 14);
  tip.style.transform = `translate(${left}px, ${top}px)`;
}

/* Pressed names are emphasised in place of those that each figure has at the start; every other line is grey. */
function connectLegend(section, views) {
  const legend = section.querySelector(".legend");
  if (legend === null) return;
  const buttons = [...legend.querySelectorAll("[data-policy]")];
  const everything = legend.querySelector(".everything");
  const update = () => {
    const chosen = buttons
      .filter((button) => button.getAttribute("aria-pressed") === "true")
      .map((button) => button.dataset.policy);
    legend.classList.toggle("choosing", chosen.length > 0);
    everything.hidden = chosen.length === 0;
    for (const { view, first } of views) {
      if (first !== undefined) view.signal("highlight", chosen.length > 0 ? chosen : first).run();
    }
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      update();
    });
  }
  everything.addEventListener("click", () => {
    for (const button of buttons) button.setAttribute("aria-pressed", "false");
    update();
    buttons[0].focus();
  });
}

/* Every line tells its name under the pointer, and a click on it presses its name. */
function connectLines(section) {
  const tip = document.createElement("p");
  tip.className = "name-tip";
  tip.hidden = true;
  section.append(tip);
  const lineAt = (event) => event.target.closest?.(".hit_marks path") ?? null;
  section.addEventListener("pointermove", (event) => {
    const line = lineAt(event);
    tip.hidden = line === null;
    if (line === null) return;
    tip.textContent = line.getAttribute("aria-label");
    placeBeside(tip, event);
  });
  section.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  section.addEventListener("click", (event) => {
    const name = lineAt(event)?.getAttribute("aria-label");
    if (name === undefined) return;
    section.querySelector(`[data-policy="${CSS.escape(name)}"]`)?.click();
  });
}

/* Figures a page above and below the window are drawn next, before they are scrolled to. */
const AHEAD = 1;

/* What is in the window, and is not there as a picture yet, is drawn first, then `next` is done, and then the rest is drawn, a figure at a turn. */
async function drawAll(next) {
  const seen = new Set();
  const near = new Set();
  let looked;
  const hasLooked = new Promise((resume) => {
    looked = resume;
    setTimeout(resume, 200); /* A page in the background is not looked at. */
  });
  const observer = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const { top, bottom } = entry.boundingClientRect;
        const isSeen = entry.isIntersecting && bottom > 0 && top < window.innerHeight;
        for (const [places, holds] of [[near, entry.isIntersecting], [seen, isSeen]]) {
          if (holds) places.add(entry.target);
          else places.delete(entry.target);
        }
      }
      looked();
    },
    { rootMargin: `${100 * AHEAD}% 0px` },
  );
  const waiting = [];
  /* What is folded has no width to be drawn at: it waits until it is opened, or printed. */
  const folded = (each) => each.place.closest("details:not([open])") !== null;
  const parts = [];
  for (const section of document.querySelectorAll("[data-part]")) {
    const part = partAt(Number(section.dataset.part));
    const views = [];
    parts.push(part);
    for (const place of section.querySelectorAll("[data-figure]")) {
      waiting.push({ part, place, views });
      observer.observe(place);
    }
    connectLegend(section, views);
    connectLines(section);
  }
  const drawWaiting = async ({ part, place, views }) => {
    const { figures, rows } = part.content ?? (await part.unpacked());
    const view = await draw(figures.get(place.dataset.figure), place, rows);
    if (view !== null) views.push({ view, first: view.getState().signals.highlight });
    observer.unobserve(place);
  };
  /* A print has every figure, also those that were still waiting: drawing is promises alone, which are kept before
     the browser goes on to print. */
  window.addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.folded")) fold.open = true;
    for (const each of waiting.splice(0)) drawWaiting(each);
  });
  for (const fold of document.querySelectorAll("details.folded")) {
    fold.addEventListener("toggle", async () => {
      const opened = waiting.filter((each) => fold.contains(each.place) && !folded(each));
      for (const each of opened) waiting.splice(waiting.indexOf(each), 1);
      for (const each of opened) await drawWaiting(each);
    });
  }
  /* Parts out of sight are unpacked later, all of them before the next figure, so that a print needs no wait. */
  const windowDrawn = async () => {
    document.documentElement.dataset.window = "drawn";
    for (const part of parts) await part.unpacked();
    document.documentElement.dataset.parts = "unpacked";
    await next();
  };
  await hasLooked;
  const among = (places) => waiting.findIndex((each) => places.has(each.place) && !folded(each));
  const empty = () => waiting.findIndex((each) => seen.has(each.place) && !each.place.hasChildNodes() && !folded(each));
  const open = () => waiting.findIndex((each) => !folded(each));
  const drawAt = (found) => drawWaiting(...waiting.splice(found, 1));
  while (empty() >= 0) {
    await drawAt(empty());
    await nextTurn();
  }
  await windowDrawn();
  while (open() >= 0) {
    await nextTurn();
    const found = [among(seen), among(near), open()].find((place) => place >= 0);
    if (found !== undefined) await drawAt(found);
  }
  document.documentElement.dataset.figures = "drawn";
}

/* A turn for scrolling and clicks, and for the observer. Timers would wait four milliseconds each. */
function nextTurn() {
  return new Promise((resume) => {
    if (window.scheduler?.postTask) window.scheduler.postTask(resume);
    else setTimeout(resume);
  });
}
