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
  window.addEventListener("hashchange", openTarget);
  if (location.hash !== "") openTarget();
  await drawAll(async () => {
    offerTables();
    await whenNear([...document.querySelectorAll(".scroll")], (scrollers) => {
      freeze(scrollers.flatMap((scroller) => [...scroller.querySelectorAll(":scope > table")]));
      scrollers.forEach(showsMore);
    });
    const tables = await unpack(packed.at(-1));
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
