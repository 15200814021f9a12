"use strict";

(() => {
  const parts = JSON.parse(document.getElementById("report-data").textContent);

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

  async function draw(figure, rows) {
    try {
      const { view } = await vegaEmbed(
        drawnInto(figure.identity),
        { ...figure.specification, datasets: { rows } },
        { actions: false, renderer: "svg", tooltip: { disableDefaultStyle: true } },
      );
      return view;
    } catch (error) {
      showProblem(figure.identity, error);
      return null;
    }
  }

  function connectLegend(section, views) {
    const legend = section.querySelector(".legend");
    const buttons = [...(legend?.querySelectorAll("[data-policy]") ?? [])];
    const everything = legend?.querySelector(".everything");
    const update = () => {
      const chosen = buttons
        .filter((button) => button.getAttribute("aria-pressed") === "true")
        .map((button) => button.dataset.policy);
      legend.classList.toggle("choosing", chosen.length > 0);
      everything.hidden = chosen.length === 0;
      for (const view of views) view.signal("highlight", chosen).run();
    };
    for (const button of buttons) {
      button.addEventListener("click", () => {
        button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
        update();
      });
    }
    everything?.addEventListener("click", () => {
      for (const button of buttons) button.setAttribute("aria-pressed", "false");
      update();
      buttons[0].focus();
    });
  }

  async function drawAll() {
    for (const section of document.querySelectorAll("[data-part]")) {
      const { rows, figures } = parts[Number(section.dataset.part)];
      const views = [];
      for (const figure of figures) {
        const view = await draw(figure, rows);
        if (view !== null) views.push(view);
      }
      connectLegend(section, views);
    }
    document.documentElement.dataset.figures = "drawn";
  }

  function connectTable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const filters = [...document.querySelectorAll("[data-filter]")];
    const count = document.querySelector(".count");
    const more = document.querySelector(".more");
    let limit = Number(table.dataset.shown);
    let rows = [...body.rows];
    const columnOf = (name) => heads.findIndex((head) => head.dataset.column === name);
    const textOf = (row, column) => row.cells[column].textContent;

    function show() {
      const tests = filters
        .filter((filter) => filter.value !== "")
        .map((filter) => [columnOf(filter.dataset.filter), filter.value]);
      let matching = 0;
      for (const row of rows) {
        const matches = tests.every(([column, value]) => textOf(row, column) === value);
        if (matches) matching += 1;
        row.hidden = !matches || matching > limit;
      }
      if (count === null) return;
      const shown = Math.min(matching, limit);
      count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
      more.hidden = matching <= limit;
    }

    /* What is not known stands last in both directions. */
    function compare(column, numeric, sign) {
      const keys = new Map();
      for (const row of rows) {
        const text = textOf(row, column);
        const number = numeric ? Number(text.replaceAll(",", "")) : text;
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
      body.append(...rows);
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

  for (const table of document.querySelectorAll("table.rows")) connectTable(table);
  drawAll();
})();
