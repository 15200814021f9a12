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

  function matching() {
    const tests = filters
      .filter((filter) => filter.value !== "")
      .map((filter) => [columnOf(filter.dataset.filter), filter.value])
      .filter(([column]) => column >= 0);
    return rows.filter((row) => tests.every(([column, value]) => row.cells[column] === value));
  }

  function show() {
    const found = matching();
    const shown = found.slice(0, limit);
    body.replaceChildren(...shown.map(elementOf));
    if (count === null) return;
    count.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    more.hidden = found.length <= limit;
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

  /* The table as it is filtered and sorted, with numbers that programs read. */
  function saved() {
    const plain = (text, column) => (heads[column].classList.contains("n") ? text.replace(/,/g, "").replace(/^–$/, "") : text);
    const titles = heads.map((head) => head.textContent.trim());
    return csv([titles, ...matching().map((row) => row.cells.map(plain))]);
  }

  offer(nameOf(table), toolsOf(table.parentElement), { CSV: saved });
  for (const head of heads) head.querySelector("button").addEventListener("click", () => sort(head));
  for (const filter of filters) filter.addEventListener("change", show);
  more?.addEventListener("click", () => {
    limit = Infinity;
    show();
  });
  show();
}

/* A table out of sight is not laid out: it is measured when it comes near the window. Resolves when all were looked at,
   or nobody looks. */
function whenNear(scrollers, measure) {
  return new Promise((resume) => {
    const observer = new IntersectionObserver((entries) => {
      const come = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
      for (const scroller of come) observer.unobserve(scroller);
      measure(come);
      resume();
    }, { rootMargin: "100% 0px" });
    for (const scroller of scrollers) observer.observe(scroller);
    setTimeout(resume, 200); /* A page in the background is not looked at. */
  });
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

/* A table that goes on to the right fades there, and says so; a click on the words moves it. */
function showsMore(scroller) {
  const hint = document.createElement("button");
  hint.type = "button";
  hint.className = "goes-on";
  hint.textContent = "more columns →";
  hint.addEventListener("click", () => scroller.scrollBy({ left: 0.8 * scroller.clientWidth, behavior: "smooth" }));
  const update = () => {
    const rest = scroller.scrollWidth - scroller.clientWidth - scroller.scrollLeft;
    scroller.classList.toggle("goes-on-right", rest > 1);
    hint.hidden = rest <= 1;
    if (!hint.hidden && !hint.isConnected) toolsOf(scroller)?.append(hint);
  };
  scroller.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(scroller);
  update();
}
