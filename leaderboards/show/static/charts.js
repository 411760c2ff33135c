"use strict";
// The charts of a page, as leaderboards/show/chart.py describes them, and the comparison of two agents.
{
  const { all, css, address, load, plotting, saveRows, stem, whenIdle } = window.gpbandit;
  const element = (id) => document.getElementById(id);
  const small = matchMedia("(max-width: 40rem)");
  const checked = (id) => element(id).checked;
  // Plotly reads a few HTML tags in names, and mathematics between dollars.
  const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;" };
  const escaped = (text) => text.replace(/[&<>$]/g, (character) => ENTITIES[character]);
  // A long name would leave no room for the chart.
  const shortened = (name) => escaped(name.length > 32 ? `${name.slice(0, 31)}…` : name);
  const translucent = (colour, alpha = 0.16) => {
    const n = parseInt(colour.slice(1), 16);
    return `rgba(${n >> 16},${(n >> 8) & 255},${n & 255},${alpha})`;
  };
  // Numbers in single precision and base64, as leaderboards/show/format.py packs them; others are a list.
  const unpacked = (values) => {
    if (typeof values !== "string") return values;
    const bytes = Uint8Array.from(atob(values), (character) => character.charCodeAt(0));
    return Array.from(new Float32Array(bytes.buffer), (y) => (Number.isNaN(y) ? null : Number(y.toPrecision(4))));
  };
  const unpackedLine = (line) => ({ ...line, y: unpacked(line.y), low: line.low && unpacked(line.low), high: line.high && unpacked(line.high) });
  const unpackedRuns = ({ x, runs }) => {
    for (const [name, values] of Object.entries(runs)) {
      const numbers = unpacked(values);
      runs[name] = Array.from({ length: numbers.length / x.length }, (_, i) => numbers.slice(i * x.length, (i + 1) * x.length));
    }
  };
  const SHAPES = { steps: "hv" };
  const CROWD = 12; // more curves than these hide each other: a taller chart draws the first of them until the reader chooses
  const LEADING = 8;

  let page = null; // the charts of the page: { xs, styles, charts }, of agents also { groups, pinned }
  let current = null; // the one whose tab is chosen
  let repetitions = null; // the curves of single repetitions: { xs, metrics }
  let choice = null; // names of the curves that the reader wants to see; null before any choice
  const crowded = (chart) => Boolean(page.pinned) && chart.mark !== "points" && chart.lines.length > CROWD;
  const byDefault = (chart) => (crowded(chart) ? chart.lines.filter((line, i) => i < LEADING || page.pinned.includes(line.name)) : chart.lines);
  const visible = (chart) => (choice ? chart.lines.filter((line) => choice.has(line.name)) : byDefault(chart));

  // ---- drawing ----
  const hasPoints = (chart) => chart.mark === "points" || chart.mark === "joined points";
  const points = (chart, line, colour, style) => {
    const open = chart.mark === "points" && !chart.frontier.includes(line.name);
    const whiskers = {
      type: "data", symmetric: false, thickness: 1.6, width: 4, color: colour,
      array: line.high?.map((y, i) => y - line.y[i]), arrayminus: line.low?.map((y, i) => line.y[i] - y),
    };
    return {
      mode: chart.mark === "points" ? "markers" : "lines+markers",
      error_y: line.low && checked("show-bands") ? whiskers : undefined,
      hovertemplate: chart.mark === "points" ? "%{x:.3g}: %{y:.4g}" : "%{y:.4g}",
      marker: { color: colour, size: chart.mark === "points" ? 11 : 7, symbol: `${style.symbol}${open ? "-open" : ""}`, line: { width: 2, color: colour } },
    };
  };
  // On a logarithmic axis, what has fallen to 0, or is too small for it, runs along the lower edge rather than vanish.
  const raised = (values, floor) => {
    if (!floor) return values;
    const first = values.findIndex((y) => y !== null && y >= floor);
    return values.map((y, i) => (y === null || i < first ? y : Math.max(y, floor)));
  };
  const band = (chart, line, x, colour, floor) => {
    const edge = { x, type: "scatter", mode: "lines", line: { width: 0, shape: SHAPES[chart.mark] ?? "linear" }, hoverinfo: "skip", showlegend: false };
    return [{ ...edge, y: floor ? line.low.map((y) => (y === null ? null : Math.max(y, floor))) : line.low }, { ...edge, y: raised(line.high, floor), fill: "tonexty", fillcolor: translucent(colour) }];
  };
  const withRepetitions = (chart) => checked("show-runs") && repetitions !== null && chart.key in repetitions.metrics;
  const runsOf = (chart, line) => {
    const { x, runs } = repetitions.metrics[chart.key];
    return (runs[line.name] ?? []).map((y) => ({ x, y }));
  };
  const single = (chart, line, colour, floor) => {
    // One trace for all, broken between them: plotly is slow with many.
    const joined = runsOf(chart, line).flatMap(({ y }) => [...raised(y, floor), null]);
    const times = runsOf(chart, line).flatMap(({ x }) => [...x, null]);
    return { x: times, y: joined, type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, line: { color: translucent(colour, 0.5), width: 0.9 } };
  };
  const traces = (chart, floor) => {
    const found = [];
    for (const line of visible(chart)) {
      const style = page.styles[line.name];
      const colour = css(`--hue${style.hue}`);
      const x = page.xs[line.x];
      const trace = {
        x, y: raised(line.y, floor), customdata: line.y, type: "scatter", mode: style.marker ? "lines+markers" : "lines", name: shortened(line.name),
        meta: line.name, hovertemplate: "%{customdata:.4g}", line: { color: colour, dash: style.dash, width: 2.2, shape: SHAPES[chart.mark] ?? "linear" },
        marker: { symbol: style.marker || "circle", size: 7, color: colour, maxdisplayed: 9 },
      };
      if (hasPoints(chart)) {
        found.push({ ...trace, ...points(chart, line, colour, style) });
        continue;
      }
      if (line.low && checked("show-bands")) found.push(...band(chart, line, x, colour, floor));
      if (withRepetitions(chart)) found.push(single(chart, line, colour, floor));
      found.push(trace);
    }
    const corners = chart.frontier.map((name) => chart.lines.find((line) => line.name === name));
    const drawn = visible(chart);
    if (corners.length && corners.every((line) => drawn.includes(line))) {
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
    const lines = visible(chart);
    const longest = lines.reduce((most, line) => Math.max(most, page.xs[line.x].at(-1) ?? 0), 0);
    const from = checked("log-x") || chart.x.log ? 0 : longest / 50;
    const runs = withRepetitions(chart) ? lines.flatMap((line) => runsOf(chart, line)) : [];
    const curves = [...lines.map((line) => ({ x: page.xs[line.x], y: line.y })), ...runs];
    const late = curves.flatMap(({ x, y }) => y.filter((value, i) => value !== null && x[i] >= from));
    const positive = [...late.filter((y) => y > 0), ...chart.references];
    const tops = [...lines.map((line) => (checked("show-bands") && line.high) || line.y), ...runs.map(({ y }) => y)].flat().filter((y) => y > 0);
    if (!positive.length) return null;
    const low = positive.reduce((a, b) => Math.min(a, b)), high = tops.reduce((a, b) => Math.max(a, b), low);
    const hasZeros = late.some((y) => y < low);
    return { low, high, range: [Math.log10(low) - (hasZeros ? 0.3 : 0.15), Math.log10(high) + 0.08] };
  };
  // Powers of ten, among few of them also 2 and 5 times these, all in full: plotly would write a bare 2 for 200.
  const logTicks = (low, high) => {
    if (high / low > 200) return { dtick: 1 };
    if (high / low < 4) return { nticks: 6 };
    const powers = Array.from({ length: 31 }, (_, i) => i - 15);
    const tickvals = powers.flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power));
    return { tickvals, ticktext: tickvals.map((tick) => (tick < 1e-3 || tick >= 1e5 ? tick.toExponential(0) : `${Number(tick.toPrecision(3))}`)) };
  };
  const layout = (chart, logY) => {
    const ink = css("--ink"), soft = css("--soft"), rule = css("--rule");
    const axis = (described) => ({
      gridcolor: rule, linecolor: rule, zerolinecolor: rule, tickfont: { color: soft }, automargin: true,
      title: { text: escaped(described.label), font: { color: soft, size: 12 }, standoff: 9 },
      ...(described.limits ? { range: described.limits } : {}),
    });
    const along = chart.x.label === "evaluations t";
    const logX = checked("log-x") || chart.x.log;
    return {
      height: small.matches ? 400 : chart.lines.length > CROWD ? 580 : 460,
      margin: { l: 12, r: 8, t: 8, b: 12 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("--sans"), size: 13, color: ink },
      hovermode: chart.mark === "points" ? "closest" : "x unified",
      hoversort: "value descending", // as the curves lie
      hoverlabel: { bgcolor: css("--page"), bordercolor: rule, font: { color: ink, size: visible(chart).length > CROWD ? 10.5 : 13 } },
      showlegend: false,
      shapes: chart.references.map((y) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { color: soft, width: 1.2, dash: "dash" } })),
      xaxis: {
        ...axis(chart.x), ...(logX ? { type: "log", dtick: 1 } : { type: "linear" }),
        unifiedhovertitle: { text: along ? "t = %{x}" : `${escaped(chart.x.label)}: %{x:.4g}` },
      },
      yaxis: {
        ...axis(chart.y),
        ...(checked("log-y") ? { type: "log", ...(logY ? { range: logY.range, ...logTicks(logY.low, logY.high) } : {}) } : { type: "linear", rangemode: chart.y.signed ? "normal" : "tozero" }),
      },
    };
  };
  const CONFIG = { responsive: true, displayModeBar: false };
  const draw = () => {
    if (!current) return;
    const plot = element("plot");
    const logY = checked("log-y") ? decades(current) : null;
    const floor = logY ? 10 ** (logY.range[0] + 0.04) : 0;
    const drawn = traces(current, floor);
    Plotly.react(plot, drawn, layout(current, logY), CONFIG);
    plot.setAttribute("aria-label", current.alt);
    const formula = document.createElement("span");
    formula.className = "formula";
    formula.textContent = current.formula;
    const notes = [];
    // Bands, whose lines have no width, are cut there in any case.
    if (floor && drawn.some((trace) => trace.line.width && trace.y.includes(floor))) notes.push(`What runs along the lower edge is below ${floor.toPrecision(1)}, or 0.`);
    if (choice === null && crowded(current)) notes.push(`Drawn are ${[`the first ${LEADING}`, ...shownNames().slice(LEADING)].join(", ")}; the list has all.`);
    element("meaning").replaceChildren([current.meaning, ...notes, ""].join(" "), formula);
  };

  // ---- the list of curves, which is the legend ----
  const swatch = (style) => {
    const { dashes, marks } = element("legend").dataset;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", `swatch hue${style.hue}`);
    svg.setAttribute("viewBox", "0 0 26 10");
    svg.setAttribute("aria-hidden", "true");
    const path = (name, d) => {
      const part = document.createElementNS(svg.namespaceURI, "path");
      part.setAttribute("class", name);
      part.setAttribute("d", d);
      svg.append(part);
      return part;
    };
    if (!hasPoints(current)) path("line", "M1 5h24").setAttribute("stroke-dasharray", JSON.parse(dashes)[style.dash]);
    const mark = hasPoints(current) ? style.symbol : style.marker;
    if (mark) path("mark", JSON.parse(marks)[mark]);
    return svg;
  };
  const names = () => current.lines.map((line) => line.name);
  const shownNames = () => visible(current).map((line) => line.name);
  // What other charts of the page show beside these curves stays as it is; null is the choice of before any.
  const showOnly = (kept) => {
    const here = names();
    const elsewhere = Object.keys(page.styles).filter((name) => !here.includes(name) && (choice === null || choice.has(name)));
    choice = kept && new Set([...elsewhere, ...kept]);
    const many = page.charts.some(crowded);
    const shown = !kept || (kept.length === here.length && !many) ? [] : kept.length === here.length ? ["all"] : kept.length ? kept : ["none"];
    address.set({ show: shown });
    const drawn = shownNames();
    for (const box of all("#legend li input")) box.checked = drawn.includes(box.value);
    draw();
  };
  const highlight = (name) => {
    const drawn = all("#plot .scatterlayer .trace");
    const data = element("plot")._fullData ?? [];
    const of = new Map(data.map((trace) => [trace.uid, trace.meta]));
    for (const part of drawn) {
      const uid = Array.from(part.classList).find((word) => of.has(word.replace(/^trace/, "")))?.replace(/^trace/, "");
      part.style.opacity = name === null || of.get(uid) === name ? "" : "0.13";
    }
  };
  const legendItem = (line) => {
    const item = document.createElement("li");
    const label = document.createElement("label");
    const box = document.createElement("input");
    Object.assign(box, { type: "checkbox", value: line.name, checked: visible(current).includes(line), autocomplete: "off" });
    const text = document.createElement("span");
    Object.assign(text, { className: "name", textContent: line.name, title: line.name });
    label.append(box, swatch(page.styles[line.name]), text);
    const only = document.createElement("button");
    Object.assign(only, { type: "button", className: "only", textContent: "Only" });
    only.setAttribute("aria-label", `Only ${line.name}`);
    item.append(label, only);
    box.addEventListener("change", () => {
      showOnly(names().filter((name) => (name === line.name ? box.checked : shownNames().includes(name))));
    });
    const alone = () => shownNames().join() === line.name;
    only.addEventListener("click", () => showOnly(alone() ? null : [line.name]));
    label.addEventListener("dblclick", (event) => { event.preventDefault(); showOnly([line.name]); });
    item.addEventListener("mouseenter", () => highlight(line.name));
    item.addEventListener("mouseleave", () => highlight(null));
    return item;
  };
  const makeLegend = () => {
    const legend = element("legend");
    const few = current.lines.length <= 10;
    const found = legend.querySelector("input[type=search]");
    const tools = legend.querySelector(".choose");
    const choices = [["All", names()], ["None", []], ...(crowded(current) ? [["Leading", null]] : [])];
    for (const group of new Set(names().map((name) => page.groups?.[name]).filter(Boolean))) {
      choices.push([group[0].toUpperCase() + group.slice(1), names().filter((name) => page.groups[name] === group)]);
    }
    tools.replaceChildren(...choices.map(([title, kept]) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: title });
      button.addEventListener("click", () => showOnly(kept));
      return button;
    }));
    tools.hidden = current.lines.length < 2;
    found.parentElement.hidden = few;
    if (few) found.value = "";
    legend.querySelector("ul").replaceChildren(...current.lines.map(legendItem));
    search();
  };
  const search = () => {
    const wanted = element("legend").querySelector("input[type=search]").value.trim().toLowerCase();
    for (const item of all("#legend li")) item.hidden = !item.querySelector(".name").textContent.toLowerCase().includes(wanted);
  };

  // ---- tabs ----
  // The scale of the second axis belongs to its tab: what the data suggest until the reader says otherwise.
  const show = (chart) => {
    current = chart;
    const scale = element("log-y");
    scale.checked = chart.y.log;
    scale.disabled = chart.y.signed;
    element("log-x").disabled = chart.x.log;
    element("show-bands").disabled = !chart.lines.some((line) => line.low);
    element("show-runs").disabled = !page.repeated?.includes(chart.key);
    makeLegend();
    draw();
  };
  const choose = (tab, focus) => {
    for (const other of all("#chart-section [role=tab]")) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
    }
    element("panel").setAttribute("aria-labelledby", tab.id);
    if (focus) tab.focus();
    show(page.charts.find((chart) => chart.key === tab.dataset.key));
  };
  const makeTab = (chart) => {
    const tab = document.createElement("button");
    Object.assign(tab, { type: "button", id: `tab-${chart.key}`, textContent: chart.title });
    for (const [name, text] of [["role", "tab"], ["aria-controls", "panel"]]) tab.setAttribute(name, text);
    tab.dataset.key = chart.key;
    const pick = (one, focus) => { choose(one, focus); address.set({ chart: one === all("#chart-section [role=tab]")[0] ? [] : one.dataset.key }); };
    tab.addEventListener("click", () => pick(tab, false));
    tab.addEventListener("keydown", (event) => {
      const tabs = all("#chart-section [role=tab]"), i = tabs.indexOf(tab);
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      pick(tabs[(to + tabs.length) % tabs.length], true);
    });
    return tab;
  };
  // Other charts than before, with the tab of the same key chosen if there still is one.
  const setCharts = (charts) => {
    const before = current?.key;
    page = charts;
    current = null;
    element("chart-section").hidden = !page.charts.length;
    if (!page.charts.length) return;
    element("show-runs").parentElement.hidden = !page.repeated?.length;
    // Many bands hide each other and the curves.
    if (before === undefined && page.charts.some((chart) => chart.lines.length > CROWD)) element("show-bands").checked = false;
    const tabs = page.charts.map(makeTab);
    document.querySelector("#chart-section .tabs").replaceChildren(...tabs);
    const key = before ?? address.get().get("chart");
    choose(tabs.find((tab) => tab.dataset.key === key) ?? tabs[0], false);
  };
  const restoreShown = () => {
    const shown = address.get().getAll("show");
    const drawn = page.charts.flatMap((chart) => chart.lines.map((line) => line.name));
    choice = shown.includes("all") ? new Set(drawn) : shown.includes("none") || shown.some((name) => drawn.includes(name)) ? new Set(shown) : null;
  };

  // ---- files ----
  const chartRows = () => visible(current).flatMap((line) => line.y.map((y, i) => ({
    line: line.name, [current.x.label]: page.xs[line.x][i], [current.y.label]: y, low: line.low?.[i] ?? null, high: line.high?.[i] ?? null,
  })));
  const saveChart = (format) => {
    const name = `${stem}-${current.key.replace(/_/g, "-")}`;
    if (format === "csv" || format === "json") { saveRows(name, chartRows(), format); return; }
    const { clientWidth: width, clientHeight: height } = element("plot");
    // On paper the chart needs a background and its own legend.
    const figure = { data: element("plot").data, layout: { ...element("plot").layout, showlegend: true, paper_bgcolor: css("--page"), width, height } };
    Plotly.downloadImage(figure, { format, width, height, filename: name, scale: format === "png" ? 2 : 1 });
  };

  // ---- the page ----
  for (const note of all(".needs-script")) note.remove();
  for (const part of all(".with-script")) part.hidden = false;
  if (element("plot")) {
    for (const id of ["log-x", "log-y", "show-bands"]) {
      element(id).addEventListener("change", () => { current.y.log = checked("log-y"); draw(); });
    }
    element("show-runs").addEventListener("change", async () => {
      if (repetitions === null) {
        await load(element("plot").dataset.repetitions);
        for (const metric of Object.values(window.repetitionData.metrics)) unpackedRuns(metric);
        repetitions = window.repetitionData;
      }
      draw();
    });
    element("reset-view").addEventListener("click", draw);
    for (const button of all(".tools [data-format]")) {
      button.addEventListener("click", () => { button.closest("details").open = false; saveChart(button.dataset.format); });
    }
    element("legend").querySelector("input[type=search]").addEventListener("input", search);
    small.addEventListener("change", draw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    document.addEventListener("themechange", draw);
  }
  const drawable = () => new Promise(whenIdle).then(plotting);
  const source = element("chart-data");
  if (source) {
    const given = JSON.parse(source.textContent);
    const sets = element("chart-set"); // on the overview: a class of environments has charts of its own
    const pick = () => {
      page = sets ? filteredCharts() : given;
      restoreShown();
      setCharts(page);
    };
    // The charts over the environments that the filters of the overview leave, of the agents that they leave.
    const filteredCharts = () => {
      const { tasks, entrants } = window.gpbandit.filtered ?? { tasks: {}, entrants: "" };
      for (const option of sets.options) option.disabled = tasks[option.value] === "";
      if (sets.selectedOptions[0].disabled) sets.value = Array.from(sets.options).find((option) => !option.disabled)?.value ?? sets.value;
      if (tasks[sets.value] === "") return { charts: [] };
      const some = window.rankingData?.[sets.value].charts[tasks[sets.value]];
      const found = some ?? given[sets.value];
      const left = (chart) => ({ ...chart, lines: chart.lines.filter((line) => !entrants || found.groups[line.name] === entrants) });
      element("over-all").textContent = `Over ${some ? "the environments chosen" : "all environments"}${entrants ? `, agents ${entrants}` : ""}`;
      return { ...found, charts: found.charts.map(left).filter((chart) => chart.lines.length) };
    };
    const restore = () => {
      const asked = address.get();
      if (sets) sets.value = Object.hasOwn(given, asked.get("class") ?? "") ? asked.get("class") : sets.options[0].value;
      current = null;
      pick();
    };
    const begin = () => {
      sets?.addEventListener("change", () => { address.set({ class: sets.selectedIndex ? sets.value : [], show: [] }); pick(); });
      document.addEventListener("filtered", pick);
      addEventListener("hashchange", restore);
      restore();
    };
    drawable().then(begin);
  }

  // ---- comparison of two agents: the address says which, their numbers come from a script beside the page ----
  const comparison = document.querySelector("form.comparison");
  if (comparison) {
    const { first, second, task } = comparison.elements;
    const pick = (select, name) => {
      const option = Array.from(select.options).find((one) => one.value === name);
      if (option) select.value = option.value;
    };
    const NO_VALUE = "Infinity"; // sorts behind all others
    const WIDTH = 110; // of the drawing of a difference
    const styles = JSON.parse(element("task-styles").textContent);
    // Texts have {first} and {second} for the names of the pair.
    const named = (text, names) => text.replace(/\{(first|second)\}/g, (_, name) => names[name]);
    // A pair is stored in one order, see leaderboards/show/comparison.py. In the other one signs are turned, the ends of
    // intervals change places, and a share is what was left of the whole.
    const holder = () => {
      const i = first.selectedIndex, j = second.selectedIndex;
      return (i < j) === ((i + j) % 2 === 1) ? first : second;
    };
    const turned = (text) => (text.startsWith("−") ? text.slice(1) : /[1-9]/.test(text) ? `−${text}` : text);
    const turnedRow = ([task, metric, [mean, key, ...ends], places, [share, shareKey, low, high], single, p, verdict, ...rest]) => [
      task, metric, [turned(mean), String(-key), ...ends.map(turned).reverse()], places.map((x) => WIDTH - x).reverse(),
      [100 - share, String(Number((1 - shareKey).toPrecision(7))), 100 - high, 100 - low],
      single, p, named(verdict, { first: "{second}", second: "{first}" }), ...rest,
    ];
    const turnedLine = ({ name, x, y, low, high }) => {
      const negative = (values) => values?.map((value) => (value === null ? null : 0 - value));
      return { name, x, y: negative(y), low: negative(high), high: negative(low) };
    };
    const fill = (cell, [text, key, interval]) => {
      cell.dataset.sort = key || NO_VALUE;
      cell.classList.toggle("none", !key);
      cell.querySelector(".value").textContent = text;
      if (interval) cell.querySelector("small").prepend(interval);
    };
    const comparisonRow = ([option, metric, [difference, differenceKey, ...interval], places, [share, shareKey, low, high], single, p, verdict, n, needed], names) => {
      const row = element("comparison-row").content.firstElementChild.cloneNode(true);
      const [name, mean, won, alone, level, better, runs, wanted] = row.children;
      name.classList.toggle("short", option.value.length <= 26);
      name.dataset.sort = name.firstElementChild.textContent = option.value;
      name.firstElementChild.href = option.dataset.file;
      fill(mean, [difference, differenceKey, `${interval.join(" to ") || "unbounded"} `]);
      mean.querySelector(".unit").textContent = `· ${metric}`;
      const forest = mean.querySelector(".forest");
      if (places.length) {
        const [whisker, dot] = forest.querySelectorAll(".whisker, .dot");
        for (const part of [whisker, dot]) part.classList.add(`hue${option.dataset.hue}`);
        dot.setAttribute("cx", places[places.length >> 1]);
        if (places.length > 1) {
          whisker.setAttribute("x1", places[0]);
          whisker.setAttribute("x2", places[2]);
        } else whisker.remove();
      } else forest.remove();
      fill(won, [`${share}%`, shareKey, `${low}% – ${high}%`]);
      fill(alone, single);
      fill(level, p);
      better.textContent = named(verdict, names);
      runs.dataset.sort = runs.textContent = n;
      fill(wanted, needed);
      return row;
    };
    const update = async () => {
      const parameters = address.get();
      for (const select of [first, second]) pick(select, parameters.get(select.name));
      pick(task, parameters.get("task") ?? "");
      if (second.value === first.value) pick(second, Array.from(first.options).find((one) => !one.selected).value);
      for (const option of second.options) option.disabled = option.value === first.value;
      const chosen = [first.value, second.value, task.value];
      const holds = holder(), other = holds === first ? second : first;
      await load(first.options[holds.selectedIndex].dataset.script); // both list the same agents
      // Another pair may have been chosen meanwhile.
      const outdated = () => chosen.some((value, i) => value !== [first, second, task][i].value);
      if (outdated()) return;
      const names = { first: first.value, second: second.value };
      const found = window.comparisons[holds.value][other.value];
      const isTurned = holds === second;
      const versus = document.createElement("small");
      versus.textContent = " against ";
      element("pair").replaceChildren(first.value, versus, second.value);
      const rows = (isTurned ? found.rows.map(turnedRow) : found.rows).map((row) => row.with(0, task.options[row[0] + 1]));
      const shown = rows.filter(([option]) => !task.value || option.value === task.value);
      document.querySelector("#comparison tbody").replaceChildren(...shown.map((row) => comparisonRow(row, names)));
      for (const header of all("#comparison th[aria-sort]")) header.removeAttribute("aria-sort");
      element("said").textContent = found.said;
      const apart = found.apart.filter((name) => !task.value || name === task.value);
      const note = element("apart");
      note.hidden = !apart.length;
      note.textContent = `No repetition with known regret in common on ${apart.join(", ")}.`;
      await drawable();
      if (outdated()) return;
      const only = (chart) => {
        const lines = chart.lines.filter((line) => !task.value || line.name === task.value).map(unpackedLine);
        return {
          ...chart, y: { ...chart.y, label: named(chart.y.label, names) }, meaning: named(chart.meaning, names), alt: named(chart.alt, names),
          lines: isTurned ? lines.map(turnedLine) : lines,
        };
      };
      page = { xs: found.chart.xs, styles, charts: found.chart.charts.map(only).filter((chart) => chart.lines.length) };
      restoreShown();
      setCharts(page);
    };
    comparison.hidden = false;
    comparison.addEventListener("submit", (event) => event.preventDefault());
    comparison.addEventListener("change", () => {
      if (second.value === first.value) pick(second, Array.from(first.options).find((one) => !one.selected).value);
      const chosen = Array.from(new FormData(comparison)).filter(([, value]) => value);
      const kept = Array.from(address.get()).filter(([name]) => name === "chart");
      location.hash = new URLSearchParams([...chosen, ...kept]).toString();
    });
    addEventListener("hashchange", update);
    update();
  }
}
