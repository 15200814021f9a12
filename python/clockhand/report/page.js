"use strict";

(() => {
  /* The data is gzipped JSON in base64, since it would be most of the page otherwise: figures, then tables. */
  async function unpack(place) {
    const text = document.getElementById("report-data").textContent.split(".")[place];
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

  async function draw(figure, place, rows) {
    let view;
    try {
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

  /* Every figure can be saved as it stands: as a picture, or the rows that are drawn. */
  function offerToSave(figure, place, view) {
    const ways = { SVG: () => svgOf(place), PNG: () => pngOf(place), CSV: () => csvOf(figure, view) };
    offer(figure.identity, place.closest("figure"), ways);
  }

  /* Rankings and tables of all measures are figures as well; they have numbers alone. */
  function offerTables() {
    for (const figure of document.querySelectorAll("figure.overview")) {
      const table = figure.querySelector("table");
      const cells = (row) => [...row.cells].filter((cell) => !cell.matches(".ranges, .group, .bar"));
      const text = (cell) => (cell.title || cell.firstChild?.textContent || "").trim().replace("\n", " ");
      const lines = [
        [...table.tHead.rows].flatMap(cells).map(text),
        ...[...table.tBodies[0].rows].map((row) => cells(row).map(text)),
      ];
      offer(figure.id, figure, { CSV: () => csv(lines) });
    }
  }

  function offer(identity, figure, ways) {
    const caption = figure?.querySelector("figcaption");
    if (!caption) return;
    const offer = document.createElement("span");
    offer.className = "save";
    offer.append("Save ");
    for (const [name, made] of Object.entries(ways)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-label", `Save ${identity} as ${name}`);
      button.addEventListener("click", async () => save(`${identity}.${name.toLowerCase()}`, await made()));
      offer.append(button);
    }
    caption.append(offer);
  }

  function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  /* The colours of the page are variables, which a file of its own does not have. */
  function svgText(place) {
    const drawn = place.querySelector("svg").cloneNode(true);
    drawn.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const style = getComputedStyle(document.documentElement);
    return new XMLSerializer()
      .serializeToString(drawn)
      .replaceAll(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }

  function svgOf(place) {
    return new Blob([svgText(place)], { type: "image/svg+xml" });
  }

  async function pngOf(place) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(place))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resume) => canvas.toBlob(resume, "image/png"));
  }

  /* The rows of all marks, each once, with the columns that the page has of them. */
  function csvOf(figure, view) {
    const sources = new Set();
    const walk = (marks) => {
      for (const mark of marks) {
        const source = mark.from?.facet?.data ?? mark.from?.data;
        if (source !== undefined && mark.from.facet?.name !== source && !mark.name?.startsWith("label")) sources.add(source);
      }
    };
    walk(figure.specification.marks);
    const rows = new Map();
    const hidden = /^bar_text$|_(start|end)$/; /* What places a mark. */
    for (const source of sources) {
      for (const row of view.data(source)) {
        const kept = Object.fromEntries(
          Object.entries(row).filter(([name, value]) => !hidden.test(name) && typeof value !== "object"),
        );
        rows.set(JSON.stringify(kept), kept);
      }
    }
    const names = [...new Set([...rows.values()].flatMap(Object.keys))];
    return csv([names, ...[...rows.values()].map((row) => names.map((name) => row[name]))]);
  }

  function csv(lines) {
    const cell = (value) => (/[",\n]/.test(String(value ?? "")) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? ""));
    return new Blob([lines.map((line) => line.map(cell).join(",") + "\n").join("")], { type: "text/csv" });
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

  /* Figures a page above and below the window are drawn as well, before they are scrolled to. */
  const AHEAD = "100%";

  /* What is near the window is drawn first, then `next` is done, and then the rest is drawn, a figure at a turn. */
  async function drawAll(parts, next) {
    const near = new Set();
    let looked;
    const hasLooked = new Promise((resume) => {
      looked = resume;
      setTimeout(resume, 200); /* A page in the background is not looked at. */
    });
    const observer = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          if (entry.isIntersecting) near.add(entry.target);
          else near.delete(entry.target);
        }
        looked();
      },
      { rootMargin: `${AHEAD} 0px` },
    );
    const waiting = [];
    /* What is folded has no width to be drawn at: it waits until it is opened, or printed. */
    const folded = (each) => each.place.closest("details:not([open])") !== null;
    for (const section of document.querySelectorAll("[data-part]")) {
      const part = parts[Number(section.dataset.part)];
      let records;
      const rows = () => (records ??= recordsOf(part.rows));
      const views = [];
      for (const figure of part.figures) {
        const place = drawnInto(figure.identity);
        waiting.push({ figure, place, rows, views });
        observer.observe(place);
      }
      connectLegend(section, views);
      connectLines(section);
    }
    const drawWaiting = async ({ figure, place, rows, views }) => {
      const view = await draw(figure, place, rows);
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
    const windowDrawn = async () => {
      if (document.documentElement.dataset.window === "drawn") return;
      document.documentElement.dataset.window = "drawn";
      await next();
    };
    await hasLooked;
    const open = () => waiting.findIndex((each) => !folded(each));
    while (open() >= 0) {
      let found = waiting.findIndex((each) => near.has(each.place) && !folded(each));
      if (found < 0) {
        await windowDrawn();
        await nextTurn();
        found = waiting.findIndex((each) => near.has(each.place) && !folded(each));
        if (found < 0) found = open();
      }
      if (found < 0) break;
      const [each] = waiting.splice(found, 1);
      await drawWaiting(each);
      await nextTurn();
    }
    await windowDrawn();
    document.documentElement.dataset.figures = "drawn";
  }

  /* A turn for scrolling and clicks, and for the observer. Timers would wait four milliseconds each. */
  function nextTurn() {
    return new Promise((resume) => {
      if (window.scheduler?.postTask) window.scheduler.postTask(resume);
      else setTimeout(resume);
    });
  }

  function connectTable(table, moreRows) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const filters = [...document.querySelectorAll("[data-filter]")];
    const count = document.querySelector(".count");
    const more = document.querySelector(".more");
    let limit = Number(table.dataset.shown);
    const texts = [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent));
    const rows = [...texts, ...moreRows].map((cells, place) => ({ cells, element: body.rows[place] }));
    const styles = heads.map((head) => head.className.trim());
    const columnOf = (name) => heads.findIndex((head) => head.dataset.column === name);

    /* Rows beyond those of the page become elements when they are shown. */
    function elementOf(row) {
      if (row.element === undefined) {
        row.element = document.createElement("tr");
        row.cells.forEach((text, column) => {
          const cell = row.element.insertCell();
          cell.textContent = text;
          cell.className = styles[column];
        });
      }
      return row.element;
    }

    function show() {
      const tests = filters
        .filter((filter) => filter.value !== "")
        .map((filter) => [columnOf(filter.dataset.filter), filter.value]);
      const matching = rows.filter((row) =>
        tests.every(([column, value]) => row.cells[column] === value),
      );
      const shown = matching.slice(0, limit);
      body.replaceChildren(...shown.map(elementOf));
      if (count === null) return;
      count.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
      more.hidden = matching.length <= limit;
    }

    /* What is not known stands last in both directions. */
    function compare(column, numeric, sign) {
      const keys = new Map();
      for (const row of rows) {
        const text = row.cells[column];
        const number = numeric ? Number(text.replace(/[,\u00a0%]/g, "")) : text;
        keys.set(row, text === "–" || Number.isNaN(number) ? null : number);
      }
      const collator = new Intl.Collator("en", { numeric: true });
      return (left, right) => {
        const [a, b] = [keys.get(left), keys.get(right)];
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (numeric ? a - b : collator.compare(a, b));
      };
    }

    function sort(head) {
      const order = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      rows.sort(compare(heads.indexOf(head), head.classList.contains("n"), sign));
      show();
    }

    for (const head of heads) head.querySelector("button").addEventListener("click", () => sort(head));
    for (const filter of filters) filter.addEventListener("change", show);
    more?.addEventListener("click", () => {
      limit = Infinity;
      show();
    });
    show();
  }

  /* Columns that stay in place while a table scrolls stand one beside the other. All are measured before any is moved, so
     that the page is laid out once. */
  function freeze(tables) {
    const places = tables.map((table) => {
      const frozen = [...table.tHead.rows[0].cells].filter((cell) => cell.classList.contains("p"));
      let left = 0;
      return frozen.map((cell) => (left += cell.offsetWidth) - cell.offsetWidth);
    });
    places.forEach((lefts, place) => {
      lefts.forEach((left, column) => tables[place].style.setProperty(`--left-${column}`, `${left}px`));
    });
  }

  /* A table that goes on to the right fades there. */
  function showsMore(scroller) {
    const update = () => {
      const rest = scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft;
      scroller.classList.toggle("goes-on-right", rest > 1);
    };
    scroller.addEventListener("scroll", update, { passive: true });
    new ResizeObserver(update).observe(scroller);
    update();
  }

  /* Long pages begin with their headings; what is typed hides the others, and what stands below them. */
  const LEAST_CONTENTS = 4;
  const LEAST_FILTERED = 8;

  function connectContents() {
    const nav = document.querySelector("nav.contents");
    const sections = [...document.querySelectorAll("main > section[id]")]
      .map((section) => ({ section, heading: section.querySelector("h2") }))
      .filter(({ heading }) => heading !== null);
    if (nav === null || sections.length < LEAST_CONTENTS) return;
    const links = sections.map(({ section, heading }) => {
      const link = document.createElement("a");
      link.href = `#${section.id}`;
      link.textContent = heading.textContent;
      return link;
    });
    if (sections.length >= LEAST_FILTERED) {
      const filter = document.createElement("input");
      filter.type = "search";
      filter.placeholder = "Show only …";
      filter.setAttribute("aria-label", "Show only parts with this in their heading");
      filter.addEventListener("input", () => {
        const wanted = filter.value.trim().toLowerCase();
        sections.forEach(({ section, heading }, place) => {
          const hides = !heading.textContent.toLowerCase().includes(wanted);
          links[place].hidden = hides;
          section.hidden = hides;
        });
      });
      nav.append(filter);
    }
    nav.append(...links);
    nav.hidden = false;
  }

  /* Who follows a link into what is folded wants to see it. */
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target === null) return;
    const folds = [...target.querySelectorAll(":scope > details.folded")];
    for (let fold = target.closest("details"); fold !== null; fold = fold.parentElement.closest("details")) folds.push(fold);
    for (const fold of folds) fold.open = true;
    target.scrollIntoView();
  }

  async function start() {
    connectContents();
    offerTables();
    window.addEventListener("hashchange", openTarget);
    if (location.hash !== "") openTarget();
    freeze([...document.querySelectorAll(".scroll table")]);
    for (const scroller of document.querySelectorAll(".scroll")) showsMore(scroller);
    await drawAll(await unpack(0), async () => {
      const tables = await unpack(1);
      for (const table of document.querySelectorAll("table.rows")) {
        connectTable(table, rowsOf(tables[table.dataset.table] ?? []));
      }
    });
  }

  start().catch((error) => {
    for (const place of document.querySelectorAll("[data-figure]:empty")) {
      showProblem(place.dataset.figure, error);
    }
  });
})();
