"use strict";
// Sorting, filters, downloads, copy buttons, menus and the theme. Without it the tables are whole. Charts are in charts.js.
{
  const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // What is chosen on a page stands behind the # of its address, which can be kept and shared.
  const address = {
    get: () => new URLSearchParams(location.hash.slice(1)),
    // Each name with a value or several; none takes the name out.
    set: (changes) => {
      const parameters = address.get();
      for (const [name, values] of Object.entries(changes)) {
        parameters.delete(name);
        for (const value of [values].flat()) if (value) parameters.append(name, value);
      }
      for (const [name, value] of Array.from(parameters)) if (!value) parameters.delete(name);
      const text = parameters.toString();
      history.replaceState(null, "", text ? `#${text}` : location.href.split("#")[0]);
    },
  };

  // A script beside the page, once: from disk, other data may not be loaded.
  const loading = new Map();
  const load = (source) => {
    if (!loading.has(source)) {
      loading.set(source, new Promise((loaded, failed) => {
        const script = document.createElement("script");
        Object.assign(script, { src: source, onload: loaded, onerror: failed });
        document.head.append(script);
      }));
    }
    return loading.get(source);
  };

  // 4.8 MB, which pages share: read when there is a chart to draw, not before the page can be used.
  const { plotly } = document.currentScript.dataset;
  const plotting = () => load(plotly);

  // What is long to read waits for the page; it does not wait to be near, since what is printed or photographed never is.
  const whenIdle = (act) => {
    const begin = () => (window.requestIdleCallback ?? setTimeout)(act);
    if (document.readyState === "complete") begin(); else addEventListener("load", begin);
  };

  // ---- files ----
  const save = (name, text, type) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const quoted = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  // Rows are objects with the same names.
  const saveRows = (name, rows, format) => {
    if (format === "json") { save(`${name}.json`, JSON.stringify(rows, null, 1), "application/json"); return; }
    const columns = Object.keys(rows[0] ?? {});
    const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
    save(`${name}.csv`, lines.map((line) => `${line.map(quoted).join(",")}\n`).join(""), "text/csv");
  };
  const stem = location.pathname.split("/").pop().replace(/\.html$/, "") || "page";
  window.gpbandit = { all, css, address, load, plotting, saveRows, stem, whenIdle };

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
    const last = (entry) => (kind !== "text" && !Number.isFinite(entry.key) ? 1 : 0);
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


  // Every table as a file: what is shown of it, numbers in full, ends of intervals in columns of their own.
  const shown = (element) => !element.hidden;
  const cellValues = (cell, title, kind) => {
    const found = { [title]: cell.dataset.sort ?? cell.textContent.trim().replace(/\s+/g, " ") };
    if (cell.dataset.sort !== undefined && kind !== "text") {
      const number = Number(cell.dataset.sort);
      found[title] = Number.isFinite(number) ? number : null;
    }
    const ends = (cell.querySelector("small")?.textContent ?? "").match(/^\s*(\S+) (?:–|to) ([^\s·]+)/);
    const value = (text) => Number(text.replace("−", "-").replace("%", ""));
    const scale = ends?.[1].endsWith("%") || ends?.[2].endsWith("%") ? 0.01 : 1;
    if (ends && [ends[1], ends[2]].every((text) => Number.isFinite(value(text)))) {
      found[`${title}, low`] = Number((value(ends[1]) * scale).toPrecision(6));
      found[`${title}, high`] = Number((value(ends[2]) * scale).toPrecision(6));
    }
    return found;
  };
  const tableRows = (table) => {
    const headers = all("thead th", table).map((header, column) => ({ header, column, title: header.textContent.trim(), kind: header.dataset.kind }));
    const rows = all("tbody > tr:not(.group)", table).filter(shown).map((row) => Object.assign({}, ...headers
      .filter(({ header }) => shown(header)).map(({ column, title, kind }) => cellValues(row.children[column], title, kind))));
    const columns = headers.flatMap(({ title }) => [title, `${title}, low`, `${title}, high`]).filter((name) => rows.some((row) => name in row));
    return rows.map((row) => Object.fromEntries(columns.map((name) => [name, row[name] ?? null])));
  };
  for (const place of all(".scroll:has(table)")) {
    const table = place.querySelector("table");
    const line = document.createElement("p");
    line.className = "downloads";
    for (const format of ["csv", "json"]) {
      const button = document.createElement("button");
      const what = table.caption?.textContent ?? place.getAttribute("aria-label");
      Object.assign(button, { type: "button", textContent: format.toUpperCase(), title: `Save this table as ${format.toUpperCase()}` });
      button.setAttribute("aria-label", `${format.toUpperCase()}: ${what}`);
      button.addEventListener("click", () => {
        const name = (place.getAttribute("aria-label") ?? "table").toLowerCase().replace(/[^a-z0-9]+/g, "-");
        saveRows(`${stem}-${name}`, tableRows(table), format);
      });
      line.append(button);
    }
    place.after(line);
  }

  // ---- filters: environments, as columns and cards, and entrants; what is left is ranked and drawn anew ----
  const filters = document.querySelector(".filters.ranking");
  if (filters) {
    const selects = all("select", filters);
    const ofAgents = (select) => select.name === "entrants";
    const kept = (element) => selects.every((select) => ofAgents(select) || !select.value || element.dataset[select.name] === select.value);
    const entrants = () => selects.find(ofAgents)?.value ?? "";
    const parts = all(".ranked").map((part) => ({ part, rows: all("tbody > tr", part) }));
    const filter = async () => {
      for (const card of all(".card")) card.hidden = !kept(card);
      const tasks = parts.map(({ part, rows }) => {
        const columns = all("thead th", part).map((header, column) => ({ header, column })).filter(({ header }) => header.dataset.family !== undefined);
        for (const { header, column } of columns) for (const row of all("tr", part)) row.children[column].hidden = !kept(header);
        for (const row of rows) row.hidden = Boolean(entrants()) && row.dataset.entrants !== entrants();
        const left = columns.flatMap(({ header }, i) => (kept(header) ? [i] : [])).join(",");
        part.hidden = left === "" || rows.every((row) => row.hidden);
        return left;
      });
      const asked = { tasks: Object.fromEntries(parts.map(({ part }, i) => [part.dataset.class, tasks[i]])), entrants: entrants() };
      const state = JSON.stringify(asked);
      latest = state;
      await load(filters.dataset.script);
      // Something else may have been chosen meanwhile.
      if (state !== latest || filters.dataset.state === state) return;
      filters.dataset.state = state;
      rankAnew(asked);
      window.gpbandit.filtered = asked;
      document.dispatchEvent(new Event("filtered"));
    };
    let latest = "";
    const rankAnew = (asked) => parts.forEach(({ part, rows }) => {
      const name = part.dataset.class;
      const found = window.rankingData[name].rankings[`${asked.tasks[name]}|${asked.entrants}`];
      if (!found) return;
      part.querySelector(".basis").textContent = found.basis;
      // Rows that the choice leaves out have no place in it.
      rows.filter((row) => !row.hidden).forEach((row, j) => {
        row.children[0].outerHTML = found.rows[j][0];
        row.children[2].outerHTML = found.rows[j][1];
      });
      for (const header of all("thead th", part)) header.removeAttribute("aria-sort");
      const key = (row) => Number(row.children[2].dataset.sort);
      part.querySelector("tbody").append(...rows.toSorted((a, b) => key(a) - key(b)));
    });
    const restore = () => {
      const chosen = address.get();
      for (const select of selects) {
        const value = chosen.get(select.name) ?? "";
        select.value = Array.from(select.options).some((option) => option.value === value) ? value : "";
      }
      if (selects.some((select) => select.value) || filters.dataset.state) filter();
    };
    for (const part of [filters, document.querySelector(".with-filters")]) part.hidden = false;
    for (const select of selects) {
      select.addEventListener("change", () => { address.set({ [select.name]: select.value }); filter(); });
    }
    addEventListener("hashchange", restore);
    restore();
  }

  // ---- criteria: one tab of scores each, chosen for all tables of a page at once; and the agents placed among themselves ----
  const groups = all(".criteria").map((group) => ({ group, list: group.querySelector("[role=tablist]"), panels: all(".criterion", group) }));
  const chooseCriterion = (by) => {
    for (const { list, panels } of groups) {
      const there = panels.some((panel) => panel.dataset.by === by) ? by : panels[0].dataset.by;
      for (const panel of panels) panel.hidden = panel.dataset.by !== there;
      for (const tab of all("[role=tab]", list)) {
        tab.setAttribute("aria-selected", String(tab.dataset.by === there));
        tab.tabIndex = tab.dataset.by === there ? 0 : -1;
      }
    }
  };
  for (const { group, list, panels } of groups) {
    list.hidden = false;
    for (const panel of panels) {
      const heading = panel.querySelector("h3"), tab = document.createElement("button");
      Object.assign(tab, { type: "button", id: `${panel.id}-tab`, textContent: heading.textContent });
      for (const [name, text] of [["role", "tab"], ["aria-controls", panel.id]]) tab.setAttribute(name, text);
      for (const [name, text] of [["role", "tabpanel"], ["aria-labelledby", tab.id]]) panel.setAttribute(name, text);
      tab.dataset.by = panel.dataset.by;
      heading.hidden = true;
      tab.addEventListener("click", () => {
        chooseCriterion(tab.dataset.by);
        address.set({ by: panel === panels[0] ? [] : tab.dataset.by });
      });
      tab.addEventListener("keydown", (event) => {
        const tabs = all("[role=tab]", list), i = tabs.indexOf(tab);
        const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        const next = tabs[(to + tabs.length) % tabs.length];
        next.click();
        next.focus();
      });
      list.append(tab);
    }
    const form = group.querySelector(".classes");
    if (!form) continue;
    form.hidden = false;
    const selects = all("select", form);
    form.addEventListener("change", () => {
      const chosen = Object.fromEntries(selects.map((select) => [select.name, select.value]));
      for (const row of all("tr[data-places]", group)) {
        // Among all, among those told as much, among those that batch as it does, among those that do both.
        const among = (chosen.kernel ? 1 : 0) + (chosen.batching ? 2 : 0);
        const leads = row.dataset.leads === undefined || JSON.parse(row.dataset.leads)[among];
        row.hidden = !leads || selects.some((select) => select.value && row.dataset[select.name] !== select.value);
        const place = JSON.parse(row.dataset.places)[among];
        row.children[0].textContent = place;
        row.children[0].dataset.sort = place ? String(Number.parseInt(place, 10) || place.charCodeAt(0)) : "Infinity";
      }
    });
  }
  if (groups.length) {
    const restoreCriterion = () => chooseCriterion(address.get().get("by") ?? "");
    addEventListener("hashchange", restoreCriterion);
    restoreCriterion();
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
    document.dispatchEvent(new Event("themechange"));
  });
}
