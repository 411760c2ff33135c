/* An excerpt below every result of the search, around the first word that was looked for. */
"use strict";

(() => {
  const LENGTH = 240;

  function words(link) {
    const root = document.documentElement.dataset.content_root ?? "./";
    const address = new URL(link.href);
    const name = address.pathname.slice(new URL(root, location.href).pathname.length);
    const sections = window.searchWords[decodeURIComponent(name).replace(/\.html$/, "")] ?? [];
    const anchor = decodeURIComponent(address.hash.slice(1));
    const chosen = sections.filter(([ids]) => ids.includes(anchor));
    return (chosen.length ? chosen : sections).map(([, text]) => text);
  }

  // Beginnings of words: "width" is found in "widths", and not in "bandwidth".
  function pattern(terms) {
    const escaped = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join("|")})`, "giu");
  }

  function excerpt(texts, found) {
    const count = (text) => new Set([...text.matchAll(found)].map((match) => match[0].toLowerCase())).size;
    // The part with most of the words that were looked for.
    const text = texts.reduce((best, next) => (count(next) > count(best) ? next : best), texts[0] ?? "");
    const start = Math.max(text.search(found) - LENGTH / 3, 0);
    const from = start ? text.indexOf(" ", start) + 1 : 0;
    const end = from + LENGTH < text.length ? text.lastIndexOf(" ", from + LENGTH) : text.length;
    return (from ? "… " : "") + text.slice(from, end) + (end < text.length ? " …" : "");
  }

  function mark(paragraph, found) {
    paragraph.replaceChildren(
      ...paragraph.textContent.split(found).map((part, i) => {
        if (i % 2 === 0) return part;
        const word = document.createElement("span");
        word.className = "highlighted";
        word.textContent = part;
        return word;
      }),
    );
  }

  function add(item, found) {
    const link = item.querySelector("a");
    const text = link ? excerpt(words(link), found) : "";
    if (!text || item.querySelector(".context")) return;
    const paragraph = document.createElement("p");
    paragraph.className = "context";
    paragraph.textContent = text;
    mark(paragraph, found);
    item.append(paragraph);
  }

  document.addEventListener("DOMContentLoaded", () => {
    const results = document.getElementById("search-results");
    const query = new URLSearchParams(location.search).get("q") ?? "";
    const terms = query.split(/\s+/).filter(Boolean);
    if (!terms.length) return;
    const found = pattern(terms);
    const watcher = new MutationObserver((changes) => {
      for (const change of changes)
        for (const node of change.addedNodes) if (node.nodeName === "LI") add(node, found);
    });
    watcher.observe(results, { childList: true, subtree: true });
    results.querySelectorAll("li").forEach((item) => add(item, found));
  });
})();
