"use strict";
// Names and reasons come from whoever may create pods: they go into the page as text alone (textContent).
const $ = id => document.getElementById(id);
const make = (tag, text, kind) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
};
const link = (text, hash) => { const a = make("a", text); a.href = hash; return a; };
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const whole = n => Math.round(n).toLocaleString("en");
const round = n => n >= 100 ? whole(n) : n >= 10 ? n.toFixed(1) : n.toFixed(2);
const span = us => us >= 1e6 ? round(us / 1e6) + " s" : us >= 1e3 ? round(us / 1e3) + " ms" : round(us) + " us";
const age = s => s < 120 ? s + "s" : s < 7200 ? Math.floor(s / 60) + "m" : s < 172800 ? Math.floor(s / 3600) + "h" : Math.floor(s / 86400) + "d";
const plural = (n, one) => `${whole(n)} ${one}${n === 1 ? "" : "s"}`;

// The ledger's units: cpu in thousandths, memory and storage in bytes.
const isBytes = name => name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
function amount(name, n) {
  if (name === "cpu") return n % 1000 === 0 || n >= 1e5 ? whole(n / 1000) : (n / 1000).toFixed(1);
  if (!isBytes(name)) return whole(n);
  const units = ["B", "Ki", "Mi", "Gi", "Ti", "Pi"];
  let unit = 0;
  for (; Math.abs(n) >= 1024 && unit < 5; unit++) n /= 1024;
  return (n >= 100 || n === Math.floor(n) ? whole(n) : n.toFixed(1)) + units[unit];
}

// A bar of parts: [[share of the width, class]].
function bar(parts) {
  const e = make("div", undefined, "bar");
  for (const [share, kind] of parts)
    if (share > 0) {
      const i = make("i", undefined, kind);
      i.style.width = Math.min(share, 1) * 100 + "%";
      e.append(i);
    }
  return e;
}

// A line of .grid: a name, a bar, and numbers.
function line(name, parts, text) {
  const e = make("div");
  e.append(make("span", name), bar(parts), make("span", text, "dim"));
  return e;
}

// A canvas at the screen's resolution, cleared; its context measures in CSS pixels.
function sheet(canvas, wide, high) {
  const scale = devicePixelRatio || 1, c = canvas.getContext("2d");
  canvas.width = Math.round(wide * scale); canvas.height = Math.round(high * scale);
  canvas.style.height = high + "px";
  c.scale(scale, scale);
  return c;
}

// ---- addresses: #/?filter=.., #/gang/NAMESPACE/NAME, #/node/NAME ----
const DEFAULTS = { filter: "", state: "", sort: "", down: "", from: "", label: "", resource: "", span: "hour", of: "" };
let where = { view: "overview", name: "", ...DEFAULTS };
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(p => { try { return decodeURIComponent(p); } catch { return p; } });
  const got = Object.fromEntries(new URLSearchParams(query || ""));
  const view = ["gang", "node"].includes(parts[0]) ? parts[0] : "overview";
  where = { ...DEFAULTS, ...Object.fromEntries(Object.entries(got).filter(([key]) => key in DEFAULTS)), view, name: parts.slice(1).join("/") };
}
function address(view, name) {
  const query = new URLSearchParams(Object.entries(where).filter(([key, value]) => key in DEFAULTS && value && value !== DEFAULTS[key]));
  const path = view === "overview" ? "" : view + "/" + name.split("/").map(encodeURIComponent).join("/");
  return "#/" + path + (String(query) ? "?" + query : "");
}
function change(key, value) {
  where = { ...where, [key]: value };
  if (key !== "from" && ["filter", "state", "sort", "down"].includes(key)) where.from = "";
  history.replaceState(null, "", address(where.view, where.name));
  refresh();
}
// The options of a select; "" is the first one.
function choices(select, none, names, value) {
  const wanted = JSON.stringify([none, names]);
  if (select.dataset.names !== wanted) {
    select.dataset.names = wanted;
    select.replaceChildren(...["", ...names].map(name => { const o = make("option", name || none); o.value = name; return o; }));
  }
  select.value = names.includes(value) ? value : "";
}
