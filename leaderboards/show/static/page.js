"use strict";
// Sorting, tabs, charts, copy buttons and the theme. Without it the pages are whole but for the charts.
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
    const rows = all("tbody > tr", table).map((row, place) => ({ row, place, key: value(row, column, kind) }));
    const compare = kind === "text" ? (a, b) => a.key.localeCompare(b.key) : (a, b) => a.key - b.key;
    // What has no value stays at the end whichever way the column runs.
    const last = (entry) => (kind !== "text" && entry.key >= 1e9 ? 1 : 0);
    rows.sort((a, b) => last(a) - last(b) || (down ? -1 : 1) * compare(a, b) || a.place - b.place);
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

  // ---- filters: environments, as columns and cards, by what they are ----
  const filters = document.querySelector(".filters");
  if (filters) {
    const selects = all("select", filters);
    const filter = () => {
      const kept = (element) => selects.every((select) => !select.value || element.dataset[select.name] === select.value);
      for (const card of all(".card")) card.hidden = !kept(card);
      for (const table of all("table.ranking")) {
        all("thead th", table).forEach((header, column) => {
          if (header.dataset.family === undefined) return;
          for (const row of all("tr", table)) row.children[column].hidden = !kept(header);
        });
      }
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

  // ---- charts ----
  const source = document.getElementById("chart-data");
  const chart = source ? JSON.parse(source.textContent) : null;
  const plot = document.getElementById("plot");
  const small = matchMedia("(max-width: 40rem)");
  let current = chart?.tabs[0] ?? null;
  // The scale of the second axis belongs to its tab: what the data suggest until the reader says otherwise.

  const checked = (id) => document.getElementById(id).checked;
  // Plotly reads a few HTML tags in names.
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const SYMBOLS = { solid: "circle", dash: "square", dot: "diamond", dashdot: "triangle-up" };
  // A long name would leave no room for the chart.
  const shown = (name) => escaped(name.length > 32 ? `${name.slice(0, 31)}…` : name);
  const translucent = (colour) => {
    const n = parseInt(colour.slice(1), 16);
    return `rgba(${n >> 16},${(n >> 8) & 255},${n & 255},.16)`;
  };
  const traces = (tab) => {
    const found = [];
    for (const line of chart.lines) {
      const curve = tab.series[line.name];
      if (!curve) continue;
      const colour = css(`--hue${line.hue}`);
      const x = curve.t ?? chart.t;
      if (tab.points || tab.marked) {
        // Points with whiskers: what was measured at a few settings, not along the run.
        const whiskers = curve.l && checked("bands") ? { type: "data", symmetric: false, array: curve.h.map((y, i) => y - curve.m[i]), arrayminus: curve.m.map((y, i) => y - curve.l[i]), thickness: 1.6, width: 4, color: colour } : undefined;
        const quiet = tab.points && !tab.front.includes(line.name);
        found.push({
          x, y: curve.m, type: "scatter", mode: tab.points ? "markers" : "lines+markers", name: shown(line.name), error_y: whiskers,
          line: { color: colour, dash: line.dash, width: 2.2 }, hovertemplate: tab.points ? "%{x:.3g}: %{y:.4g}" : "%{y:.4g}",
          marker: { color: colour, size: tab.points ? 11 : 7, symbol: `${SYMBOLS[line.dash] ?? "circle"}${quiet ? "-open" : ""}`, line: { width: 2, color: colour } },
        });
        continue;
      }
      if (curve.l && checked("bands")) {
        const quiet = { x, type: "scatter", mode: "lines", line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: line.name };
        // A logarithmic axis has no place for a lower end at or below 0: the band then reaches down to a hundredth of the mean.
        const low = checked("log-y") ? curve.l.map((y, i) => (y === null ? null : Math.max(y, curve.m[i] / 100))) : curve.l;
        found.push({ ...quiet, y: low }, { ...quiet, y: curve.h, fill: "tonexty", fillcolor: translucent(colour) });
      }
      found.push({
        x, y: curve.m, type: "scatter", mode: "lines", name: shown(line.name), legendgroup: line.name,
        line: { color: colour, dash: line.dash, width: 2.2 }, hovertemplate: "%{y:.4g}",
      });
    }
    if (tab.front) {
      const corners = tab.front.map((name) => tab.series[name]);
      found.push({ x: corners.map((c) => c.t[0]), y: corners.map((c) => c.m[0]), type: "scatter", mode: "lines", line: { color: css("--soft"), width: 1.2, dash: "dot", shape: "hv" }, hoverinfo: "skip", showlegend: false });
    }
    return found;
  };
  // On a logarithmic axis the first few evaluations and the bands' lower ends would take most of the height.
  const decades = (tab) => {
    const longest = Math.max(...chart.lines.map((line) => (tab.series[line.name]?.t ?? chart.t).at(-1) ?? 0));
    const means = Object.values(tab.series).flatMap((curve) => {
      const t = curve.t ?? chart.t;
      const from = checked("log-x") ? 0 : longest / 50;
      return curve.m.filter((y, i) => y > 0 && t[i] >= from);
    });
    means.push(...(tab.reference ?? []));
    const tops = Object.values(tab.series).flatMap((curve) => (checked("bands") && curve.h) || curve.m).filter((y) => y > 0);
    if (!means.length) return {};
    const low = means.reduce((a, b) => Math.min(a, b)), high = tops.reduce((a, b) => Math.max(a, b), low);
    return { range: [Math.log10(low) - .15, Math.log10(high) + .08], dtick: high / low > 50 ? 1 : "D1" };
  };
  const layout = (tab) => {
    const ink = css("--ink"), soft = css("--soft"), rule = css("--rule");
    const axis = { gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickfont: { color: soft }, automargin: true };
    return {
      height: small.matches ? 420 : 460,
      margin: { l: 12, r: 8, t: 8, b: 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("--sans"), size: 13, color: ink },
      hovermode: tab.points ? "closest" : "x unified", hoverlabel: { bgcolor: css("--page"), bordercolor: rule, font: { color: ink } },
      legend: small.matches ? { orientation: "h", y: -0.22, yanchor: "top" } : { y: 1, yanchor: "top", x: 1.01 },
      xaxis: { ...axis, title: { text: escaped(tab.x ?? "evaluations t"), font: { color: soft, size: 12 }, standoff: 8 }, ...(checked("log-x") || tab.points ? { type: "log", dtick: 1 } : { type: "linear" }), unifiedhovertitle: { text: tab.x ? `${escaped(tab.x)}: %{x:.4g}` : "t = %{x}" } },
      shapes: (tab.reference ?? []).map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: soft, width: 1.2, dash: "dash" } })),
      yaxis: { ...axis, title: { text: escaped(tab.axis), font: { color: soft, size: 12 }, standoff: 10 }, ...(checked("log-y") ? { type: "log", ...decades(tab) } : { type: "linear", rangemode: tab.signed ? "normal" : "tozero" }) },
    };
  };
  const draw = () => {
    if (!current) return;
    Plotly.react(plot, traces(current), layout(current), { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
    plot.setAttribute("aria-label", current.alt);
    const note = document.getElementById("meaning");
    const formula = document.createElement("span");
    formula.className = "formula";
    const tab = document.getElementById(`tab-${current.key}`);
    formula.textContent = tab.dataset.formula;
    note.replaceChildren(`${tab.dataset.meaning} `, formula);
  };
  if (current) {
    for (const note of all(".needs-script")) note.remove();
    const tabs = all("[role=tab]");
    const show = (entry) => {
      current = entry;
      const scale = document.getElementById("log-y");
      scale.checked = entry.log;
      scale.disabled = Boolean(entry.signed);
      document.getElementById("log-x").disabled = Boolean(entry.points);
      draw();
    };
    const choose = (tab, focus) => {
      for (const other of tabs) {
        other.setAttribute("aria-selected", String(other === tab));
        other.tabIndex = other === tab ? 0 : -1;
      }
      document.getElementById("panel").setAttribute("aria-labelledby", tab.id);
      if (focus) tab.focus();
      show(chart.tabs.find((entry) => entry.key === tab.dataset.key));
    };
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => choose(tab, false));
      tab.addEventListener("keydown", (event) => {
        const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        choose(tabs[(to + tabs.length) % tabs.length], true);
      });
    });
    for (const id of ["log-x", "log-y", "bands"]) {
      document.getElementById(id).addEventListener("change", () => { current.log = checked("log-y"); draw(); });
    }
    small.addEventListener("change", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    show(current);
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
