"use strict";
// Sorting, tabs, charts, the comparison of two agents, copy buttons and the theme. Without it the tables are whole.
{
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // ---- tables ----
  const value = (row, column, kind) => {
    const text = row.children[column].dataset.sort ?? row.children[column].textContent.trim();
    return kind === "text" ? text : Number(text);
  };
  const sortBy = (table, column, header) => {
    const kind = header.dataset.kind;
    const down = header.getAttribute("aria-sort") === "ascending";
    const rows = all("tbody > tr", table).map((row, position) => ({ row, position, key: value(row, column, kind) }));
    const compare = kind === "text" ? (a, b) => a.key.localeCompare(b.key) : (a, b) => a.key - b.key;
    // What has no value stays at the end whichever way the column runs.
    const last = (entry) => (kind !== "text" && entry.key >= 1e9 ? 1 : 0);
    rows.sort((a, b) => last(a) - last(b) || (down ? -1 : 1) * compare(a, b) || a.position - b.position);
    for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    table.tBodies[0].append(...rows.map((entry) => entry.row));
  };
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sortBy(table, column, header));
    });
  }

  // ---- filters: environments, as columns and cards, by what they are; agents are ranked anew on those that are left ----
  const filters = document.querySelector(".filters:not(.comparison)");
  if (filters) {
    const selects = all("select", filters);
    const filter = () => {
      const kept = (element) => selects.every((select) => !select.value || element.dataset[select.name] === select.value);
      for (const card of all(".card")) card.hidden = !kept(card);
      for (const part of all(".ranked")) {
        const columns = all("thead th", part).map((header, column) => ({ header, column })).filter(({ header }) => header.dataset.family !== undefined);
        for (const { header, column } of columns) for (const row of all("tr", part)) row.children[column].hidden = !kept(header);
        rankAnew(part, columns.flatMap(({ header }, i) => (kept(header) ? [i] : [])).join(","));
      }
    };
    const places = new Map(all(".ranked").map((part) => [part, { rows: all("tbody > tr", part), subsets: JSON.parse(part.querySelector(".subsets").textContent) }]));
    const rankAnew = (part, left) => {
      part.hidden = left === "";
      const { rows, subsets } = places.get(part);
      const found = subsets[left];
      if (!found) return;
      part.querySelector(".basis").textContent = found.basis;
      rows.forEach((row, i) => {
        row.children[0].outerHTML = found.rows[i][0];
        row.children[2].outerHTML = found.rows[i][1];
      });
      for (const header of all("thead th", part)) header.removeAttribute("aria-sort");
      const key = (row) => Number(row.children[2].dataset.sort);
      part.querySelector("tbody").append(...rows.toSorted((a, b) => key(a) - key(b)));
    };
    filters.hidden = false;
    for (const select of selects) select.addEventListener("change", filter);
  }

  // ---- copy ----
  for (const button of all("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // ---- menus ----
  document.addEventListener("click", (event) => {
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of all("details.menu[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
  });

  // ---- charts: what leaderboards/show/chart.py describes ----
  const small = matchMedia("(max-width: 40rem)");
  const checked = (id) => document.getElementById(id).checked;
  // Plotly reads a few HTML tags in names, and mathematics between dollars.
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;" };
  const escaped = (text) => text.replace(/[&<>$]/g, (character) => ENTITIES[character]);
  // A long name would leave no room for the chart.
  const shortened = (name) => escaped(name.length > 32 ? `${name.slice(0, 31)}…` : name);
  const translucent = (colour) => {
    const n = parseInt(colour.slice(1), 16);
    return `rgba(${n >> 16},${(n >> 8) & 255},${n & 255},.16)`;
  };
  const SYMBOLS = { solid: "circle", dash: "square", dot: "diamond", dashdot: "triangle-up" };
  const SHAPES = { steps: "hv" };

  let page = null; // the charts of the page: { xs, styles, charts }
  let current = null; // the one whose tab is chosen

  const hasPoints = (chart) => chart.mark === "points" || chart.mark === "joined points";
  const points = (chart, line, colour, dash) => {
    const open = chart.mark === "points" && !chart.frontier.includes(line.name);
    const whiskers = {
      type: "data", symmetric: false, thickness: 1.6, width: 4, color: colour,
      array: line.high?.map((y, i) => y - line.y[i]), arrayminus: line.low?.map((y, i) => line.y[i] - y),
    };
    return {
      mode: chart.mark === "points" ? "markers" : "lines+markers",
      error_y: line.low && checked("show-bands") ? whiskers : undefined,
      hovertemplate: chart.mark === "points" ? "%{x:.3g}: %{y:.4g}" : "%{y:.4g}",
      marker: { color: colour, size: chart.mark === "points" ? 11 : 7, symbol: `${SYMBOLS[dash] ?? "circle"}${open ? "-open" : ""}`, line: { width: 2, color: colour } },
    };
  };
  const band = (chart, line, x, colour) => {
    const edge = { x, type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: line.name };
    // A logarithmic axis has no place for a lower end at or below 0: the band then reaches down to a hundredth of the mean.
    const low = checked("log-y") ? line.low.map((y, i) => (y === null ? null : Math.max(y, line.y[i] / 100))) : line.low;
    return [{ ...edge, y: low }, { ...edge, y: line.high, fill: "tonexty", fillcolor: translucent(colour) }];
  };
  const traces = (chart) => {
    const found = [];
    for (const line of chart.lines) {
      const { hue, dash } = page.styles[line.name];
      const colour = css(`--hue${hue}`);
      const x = page.xs[line.x];
      const trace = {
        x, y: line.y, type: "scatter", mode: "lines", name: shortened(line.name), legendgroup: line.name, hovertemplate: "%{y:.4g}",
        line: { color: colour, dash, width: 2.2, shape: SHAPES[chart.mark] ?? "linear" },
      };
      if (hasPoints(chart)) {
        found.push({ ...trace, ...points(chart, line, colour, dash) });
        continue;
      }
      if (line.low && checked("show-bands")) found.push(...band(chart, line, x, colour));
      found.push(trace);
    }
    if (chart.frontier.length) {
      const corners = chart.frontier.map((name) => chart.lines.find((line) => line.name === name));
      found.push({
        x: corners.map((line) => page.xs[line.x][0]), y: corners.map((line) => line.y[0]), type: "scatter", mode: "lines",
        // What is reached with at most, or at least, so much of x: the step is on the side that is worse.
        line: { color: css("--soft"), width: 1.2, dash: "dot", shape: corners.at(-1).y[0] > corners[0].y[0] ? "vh" : "hv" }, hoverinfo: "skip", showlegend: false,
      });
    }
    return found;
  };
  // On a logarithmic axis the first few evaluations and the bands' lower ends would take most of the height.
  const decades = (chart) => {
    const longest = Math.max(...chart.lines.map((line) => page.xs[line.x].at(-1) ?? 0));
    const from = checked("log-x") ? 0 : longest / 50;
    const means = chart.lines.flatMap((line) => line.y.filter((y, i) => y > 0 && page.xs[line.x][i] >= from));
    means.push(...chart.references);
    const tops = chart.lines.flatMap((line) => (checked("show-bands") && line.high) || line.y).filter((y) => y > 0);
    if (!means.length) return {};
    const low = means.reduce((a, b) => Math.min(a, b)), high = tops.reduce((a, b) => Math.max(a, b), low);
    return { range: [Math.log10(low) - .15, Math.log10(high) + .08], dtick: high / low > 50 ? 1 : "D1" };
  };
  const layout = (chart) => {
    const ink = css("--ink"), soft = css("--soft"), rule = css("--rule");
    const axis = (described) => ({
      gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickfont: { color: soft }, automargin: true,
      title: { text: escaped(described.label), font: { color: soft, size: 12 }, standoff: 9 },
      ...(described.limits ? { range: described.limits } : {}),
    });
    const along = chart.x.label === "evaluations t";
    const logX = checked("log-x") || chart.x.log;
    return {
      height: small.matches ? 420 : 460,
      margin: { l: 12, r: 8, t: 8, b: 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("--sans"), size: 13, color: ink },
      hovermode: chart.mark === "points" ? "closest" : "x unified",
      hoverlabel: { bgcolor: css("--page"), bordercolor: rule, font: { color: ink } },
      legend: small.matches ? { orientation: "h", y: -0.22, yanchor: "top" } : { y: 1, yanchor: "top", x: 1.01 },
      shapes: chart.references.map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: soft, width: 1.2, dash: "dash" } })),
      xaxis: {
        ...axis(chart.x), ...(logX ? { type: "log", dtick: 1 } : { type: "linear" }),
        unifiedhovertitle: { text: along ? "t = %{x}" : `${escaped(chart.x.label)}: %{x:.4g}` },
      },
      yaxis: {
        ...axis(chart.y),
        ...(checked("log-y") ? { type: "log", ...decades(chart) } : { type: "linear", rangemode: chart.y.signed ? "normal" : "tozero" }),
      },
    };
  };
  const draw = () => {
    if (!current) return;
    const plot = document.getElementById("plot");
    Plotly.react(plot, traces(current), layout(current), { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
    plot.setAttribute("aria-label", current.alt);
    const formula = document.createElement("span");
    formula.className = "formula";
    formula.textContent = current.formula;
    document.getElementById("meaning").replaceChildren(`${current.meaning} `, formula);
  };
  // The scale of the second axis belongs to its tab: what the data suggest until the reader says otherwise.
  const show = (chart) => {
    current = chart;
    const scale = document.getElementById("log-y");
    scale.checked = chart.y.log;
    scale.disabled = chart.y.signed;
    document.getElementById("log-x").disabled = chart.x.log;
    draw();
  };
  const choose = (tab, focus) => {
    for (const other of all("[role=tab]")) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
    }
    document.getElementById("panel").setAttribute("aria-labelledby", tab.id);
    if (focus) tab.focus();
    show(page.charts.find((chart) => chart.key === tab.dataset.key));
  };
  const makeTab = (chart) => {
    const tab = document.createElement("button");
    Object.assign(tab, { type: "button", id: `tab-${chart.key}`, textContent: chart.title });
    for (const [name, text] of [["role", "tab"], ["aria-controls", "panel"]]) tab.setAttribute(name, text);
    tab.dataset.key = chart.key;
    tab.addEventListener("click", () => choose(tab, false));
    tab.addEventListener("keydown", (event) => {
      const tabs = all("[role=tab]"), i = tabs.indexOf(tab);
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(tabs[(to + tabs.length) % tabs.length], true);
    });
    return tab;
  };
  // Other charts than before, with the tab of the same key chosen if there still is one.
  const setCharts = (charts) => {
    const before = current?.key;
    page = charts;
    current = null;
    document.getElementById("chart-section").hidden = !page.charts.length;
    if (!page.charts.length) return;
    const tabs = page.charts.map(makeTab);
    document.querySelector(".tabs").replaceChildren(...tabs);
    choose(tabs.find((tab) => tab.dataset.key === before) ?? tabs[0], false);
  };
  for (const note of all(".needs-script")) note.remove();
  for (const part of all(".with-script")) part.hidden = false;
  if (document.getElementById("plot")) {
    for (const id of ["log-x", "log-y", "show-bands"]) {
      document.getElementById(id).addEventListener("change", () => { current.y.log = checked("log-y"); draw(); });
    }
    small.addEventListener("change", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }
  const source = document.getElementById("chart-data");
  if (source) setCharts(JSON.parse(source.textContent));

  // ---- comparison of two agents: the address says which, their numbers come from a script beside the page ----
  const comparison = document.querySelector("form.comparison");
  if (comparison) {
    const { first, second, task } = comparison.elements;
    const load = (option) => new Promise((loaded, failed) => {
      if (window.comparisons?.[option.value]) { loaded(); return; }
      const script = document.createElement("script");
      Object.assign(script, { src: option.dataset.script, onload: loaded, onerror: failed });
      document.head.append(script);
    });
    const pick = (select, name) => {
      const option = Array.from(select.options).find((one) => one.value === name);
      if (option) select.value = option.value;
    };
    const update = async () => {
      const parameters = new URLSearchParams(location.hash.slice(1));
      for (const select of [first, second]) pick(select, parameters.get(select.name));
      pick(task, parameters.get("task") ?? "");
      if (second.value === first.value) pick(second, Array.from(first.options).find((one) => !one.selected).value);
      for (const option of second.options) option.disabled = option.value === first.value;
      const chosen = [first.value, second.value, task.value];
      await load(first.selectedOptions[0]);
      // Another pair may have been chosen meanwhile.
      if (chosen.some((value, i) => value !== [first, second, task][i].value)) return;
      const found = window.comparisons[first.value][second.value];
      const versus = document.createElement("small");
      versus.textContent = " against ";
      document.getElementById("pair").replaceChildren(first.value, versus, second.value);
      const body = document.querySelector("#comparison tbody");
      body.innerHTML = found.rows;
      for (const row of Array.from(body.rows)) if (task.value && row.dataset.task !== task.value) row.remove();
      for (const header of all("#comparison th[aria-sort]")) header.removeAttribute("aria-sort");
      const apart = found.apart.filter((name) => !task.value || name === task.value);
      const note = document.getElementById("apart");
      note.hidden = !apart.length;
      note.textContent = `No repetition with known regret in common on ${apart.join(", ")}.`;
      const only = (chart) => ({ ...chart, lines: chart.lines.filter((line) => !task.value || line.name === task.value) });
      setCharts({ ...found.chart, charts: found.chart.charts.map(only).filter((chart) => chart.lines.length) });
    };
    comparison.hidden = false;
    comparison.addEventListener("submit", (event) => event.preventDefault());
    comparison.addEventListener("change", () => {
      if (second.value === first.value) pick(second, Array.from(first.options).find((one) => !one.selected).value);
      location.hash = new URLSearchParams(Array.from(new FormData(comparison)).filter(([, value]) => value)).toString();
    });
    addEventListener("hashchange", update);
    update();
  }

  // ---- theme ----
  const toggle = document.querySelector("button.theme");
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const label = () => { toggle.textContent = dark() ? "Light" : "Dark"; toggle.setAttribute("aria-label", `Switch to the ${dark() ? "light" : "dark"} theme`); };
  toggle.hidden = false;
  label();
  toggle.addEventListener("click", () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("gpbandit-theme", next); } catch { /* nothing to remember it in */ }
    label();
    draw();
  });
}
