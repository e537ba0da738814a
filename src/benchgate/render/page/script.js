// What makes a page easier to use. The page is whole without it. It adds elements with plain text only, reads
// no address but the part behind #, keeps nothing and loads nothing.
"use strict";
(() => {
  const all = (what, from = document) => [...from.querySelectorAll(what)];
  const made = (name, text, attributes = {}) => {
    const one = document.createElement(name);
    one.textContent = text;
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    return one;
  };
  const bar = document.querySelector("nav");

  // A link also leads to what is folded.
  const reveal = () => {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return;
    }
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) reveal();
  });
  if (location.hash) reveal();

  // Each command can be copied.
  const copied = async (text, button) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(made("textarea", text));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  };
  for (const code of all(".command code, td code")) {
    const button = made("button", "copy", {type: "button", class: "copy"});
    button.addEventListener("click", () => copied(code.textContent, button));
    code.after(button);
  }

  // A column's heading sorts its table; the third click restores the order.
  const UNITS = {ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1};
  const valueOf = cell => {
    const text = cell ? cell.textContent.trim() : "";
    const found = /^-?[\d,]*\.?\d+(?:e[-+]?\d+)?/.exec(text);
    if (!found) return [1, 0, text];
    const unit = /^ ?([a-z]+)/.exec(text.slice(found[0].length));
    return [0, Number(found[0].replaceAll(",", "")) * ((unit && UNITS[unit[1]]) || 1), text];
  };
  const compared = (a, b) => a[0] - b[0] || a[1] - b[1] || a[2].localeCompare(b[2]);
  for (const table of all(".sort table")) {
    const lines = table.tBodies[0];
    const before = [...lines.rows];
    all("thead th", table).forEach((head, column) => {
      const button = made("button", head.textContent, {type: "button", title: "sort by this column"});
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const next = {none: "ascending", ascending: "descending", descending: "none"};
        const order = next[head.ariaSort || "none"];
        for (const other of all("thead th", table)) other.ariaSort = "none";
        head.ariaSort = order;
        const sorted = before.map(line => [valueOf(line.cells[column]), line]);
        if (order !== "none") sorted.sort((a, b) => compared(a[0], b[0]));
        if (order === "descending") sorted.reverse();
        lines.append(...sorted.map(one => one[1]));
      });
    });
  }

  // A filter by word, system and verdict.
  const items = all(".item");
  const names = new Map(all("[data-place-name]").map(one => [one.dataset.placeName, one.textContent]));
  const words = new Set(all("[data-word]").flatMap(one => one.dataset.word.split(" ")));
  const chosen = (label, options) => {
    const select = made("select", "", {"aria-label": label});
    select.append(made("option", label, {value: ""}));
    for (const [value, text] of options) select.append(made("option", text, {value}));
    select.addEventListener("change", filter);
    return select;
  };
  const has = (one, key, wanted) => !wanted || (one.dataset[key] || "").split(" ").includes(wanted);
  function filter() {
    const [text, place, word] = [find.value.trim().toLowerCase(), system.value, verdict.value];
    let left = 0;
    for (const one of items) {
      const fits = has(one, "place", place) && has(one, "word", word);
      const said = (one.dataset.find || one.textContent).toLowerCase();
      one.hidden = !(fits && said.includes(text));
      left += !one.hidden;
    }
    told.textContent = text || place || word ? `${left} of ${items.length} shown` : "";
  }
  const find = made("input", "", {type: "search", placeholder: "filter", "aria-label": "filter by word"});
  const system = chosen("all systems", names);
  const verdict = chosen("all verdicts", [...words].sort().map(word => [word, word]));
  const told = made("span", "", {class: "soft", role: "status"});
  if (items.length && bar) {
    find.addEventListener("input", filter);
    const tools = made("div", "", {class: "tools", role: "search"});
    tools.append(find, ...(names.size > 1 ? [system] : []), ...(words.size > 1 ? [verdict] : []), told);
    bar.append(tools);
  }

  // The list of contents follows the reader.
  const links = new Map(all("nav a").map(link => [link.hash.slice(1), link]));
  const parts = all("main > section").filter(one => links.has(one.id));
  const follow = () => {
    const above = parts.filter(one => one.getBoundingClientRect().top < innerHeight / 3);
    const current = above.at(-1) || parts[0];
    for (const [id, link] of links) {
      if (current && id === current.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", follow, {passive: true});
  follow();
})();
