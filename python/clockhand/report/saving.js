/* Every figure can be saved as it stands: as a picture, or the rows that are drawn. */
function offerToSave(figure, place, view) {
  const ways = { SVG: () => svgOf(place), PNG: () => pngOf(place), CSV: () => csvOf(figure, view) };
  offer(figure.identity, toolsOf(place), ways);
}

/* Rankings and tables of all measures are figures as well; like other tables they have numbers alone. */
function offerTables() {
  for (const figure of document.querySelectorAll("figure.overview")) {
    const table = figure.querySelector("table");
    const cells = (row) => [...row.cells].filter((cell) => !cell.matches(".ranges, .group, .bar"));
    const text = (cell) => (cell.title || cell.firstChild?.textContent || "").trim().replace("\n", " ");
    const lines = [
      [...table.tHead.rows].flatMap(cells).map(text),
      ...[...table.tBodies[0].rows].map((row) => cells(row).map(text)),
    ];
    offer(figure.id, toolsOf(figure), { CSV: () => csv(lines) });
  }
  for (const table of document.querySelectorAll(".scroll > table:not(.heat, .rows, .policies)")) {
    const lines = () => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
    offer(nameOf(table), toolsOf(table.parentElement), { CSV: () => csv(lines()) });
  }
}

/* The name of a table's file: what its region is called. */
function nameOf(table) {
  const region = table.parentElement;
  const name = region.getAttribute("aria-label") ?? document.getElementById(region.getAttribute("aria-labelledby"))?.textContent;
  return (name ?? "table").trim().toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

/* The line of what can be done with a figure, or with a table that stands by itself. */
function toolsOf(element) {
  const caption = element?.closest("figure")?.querySelector("figcaption");
  const place = caption ?? element?.parentElement;
  if (!place) return null;
  const known = caption ? caption.querySelector(".tools") : element.previousElementSibling;
  if (known?.matches(".tools")) return known;
  const line = document.createElement(caption ? "span" : "p");
  line.className = "tools";
  if (caption) caption.append(line);
  else element.before(line);
  return line;
}

function offer(identity, tools, ways) {
  if (!tools) return;
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
  tools.append(offer);
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
