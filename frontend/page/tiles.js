// ---- tiles: rates between two answers, with the last two minutes behind them ----
const KEPT = 120;
const rate = key => (now, was, s) => (now[key] - was[key]) / s;
const mean = (sum, n) => (now, was) => now[n] > was[n] ? (now[sum] - was[sum]) / (now[n] - was[n]) / 1000 : null;
const tiles = [
  ["binds/s", rate("binds_accepted"), round], ["plans/s", rate("plans"), round], ["events/s", rate("events"), round],
  ["a plan takes", mean("plan_ns_sum", "plans"), span], ["a binding takes", mean("post_ns_sum", "posts"), span],
  ["pods pending", now => now.pods_pending, whole],
].map(([text, ask, show]) => {
  const tile = make("div", undefined, "tile"), value = make("b", "–"), canvas = make("canvas");
  tile.append(make("span", text), value, canvas);
  $("tiles").append(tile);
  return { ask, show, value, canvas, past: [] };
});

function drawLine(canvas, past) {
  const wide = canvas.clientWidth || 160, high = 28, c = sheet(canvas, wide, high);
  const top = Math.max(...past.map(v => v || 0), 1e-9);
  c.strokeStyle = css("--busy"); c.lineWidth = 1.5;
  c.beginPath();
  past.forEach((v, i) => c.lineTo((KEPT - past.length + i) * wide / (KEPT - 1), high - 2 - (v || 0) / top * (high - 4)));
  c.stroke();
}

let before = null;
function showTiles(state) {
  const s = before ? (state.taken_ms - before.taken_ms) / 1000 : 0;
  if (before && s > 0)
    for (const t of tiles) {
      const v = t.ask(state.figures, before.figures, s);
      t.past.push(v);
      if (t.past.length > KEPT) t.past.shift();
      if (v !== null) t.value.textContent = t.show(Math.max(v, 0));
      if (where.view === "overview") drawLine(t.canvas, t.past);
    }
  if (!before || s > 0) before = state;
}

// ---- resources: what is used, free, and free without being of use to a gang that waits ----
function resourceRow(r) {
  const usable = r.usable === undefined ? r.free : Math.min(r.usable, r.free), all = Math.max(r.allocatable, 1);
  const parts = [[r.used / all, r.used >= r.allocatable ? "full" : "used"], [usable / all, "free"], [(r.free - usable) / all, "useless"]];
  const text = `${amount(r.name, r.used)} of ${amount(r.name, r.allocatable)} used, ${amount(r.name, r.free)} free` +
    (usable < r.free ? `, ${amount(r.name, r.free - usable)} of it of no use to what waits` : "") +
    (r.free > 0 ? `; most on one node: ${amount(r.name, r.largest_free)}` : "");
  return line(r.name, parts, text);
}
const KEYS = [["used", "used"], ["free", "free"], ["useless", "free in pieces that no waiting gang can use"], ["", "on cordoned nodes"]];
for (const [kind, text] of KEYS) {
  const key = make("span");
  key.append(bar([[1, kind]]), text);
  $("keys").append(key);
}
function showResources(state) {
  $("bars").replaceChildren(...state.resources.filter(r => r.allocatable > 0).map(resourceRow));
}

// ---- history: of the frontend, so that it is there after a reload ----
let past = null;
// The axis ends now; it begins with the first sample while there are few.
const pastLength = () => Math.min(where.span === "day" ? 86400 : 3600, Math.max(past.wall_s - past.t[0] + past.step_s, 300));
function gaps(t, step) { // indexes at which a line begins
  return t.map((at, i) => i === 0 || at - t[i - 1] > 3 * step);
}
function drawPast() {
  if (!past || !past.t || !past.t.length || where.view !== "overview") return;
  const wide = $("chart").clientWidth || 800, high = 110, c = sheet($("chart"), wide, high), left = 4, n = past.t.length;
  const length = pastLength(), top = Math.max(...past.allocatable, ...past.used, 1), begins = gaps(past.t, past.step_s);
  const x = t => left + (1 - (past.wall_s - t) / length) * (wide - 2 * left), y = v => high - 3 - v / top * (high - 18);
  const draw = (values, close) => {
    for (let i = 0; i < n;) {
      const from = i;
      c.beginPath();
      do c.lineTo(x(past.t[i]), y(values[i])); while (++i < n && !begins[i]);
      if (close) { c.lineTo(x(past.t[i - 1]), y(0)); c.lineTo(x(past.t[from]), y(0)); c.fill(); }
      c.stroke();
    }
  };
  c.fillStyle = css("--free"); c.strokeStyle = css("--busy"); c.lineWidth = 1.5;
  draw(past.used, true);
  c.strokeStyle = css("--dim"); c.setLineDash([4, 3]);
  draw(past.allocatable, false);
  c.setLineDash([]);
  c.fillStyle = css("--dim"); c.font = "12px system-ui, sans-serif";
  c.fillText(`${past.resource}: ${amount(past.resource, top)}`, left, 11);
  const low = 44, w = sheet($("waits"), wide, low), most = Math.max(...past.waiting, 1), step = Math.max((wide - 2 * left) * past.step_s / length, 1);
  w.fillStyle = css("--wait");
  for (let i = 0; i < n; i++) w.fillRect(x(past.t[i]) - step, low - past.waiting[i] / most * (low - 14), step, low);
  w.fillStyle = css("--dim"); w.font = "12px system-ui, sans-serif";
  w.fillText(`gangs that wait: ${whole(past.waiting[n - 1] || 0)}, at most ${whole(Math.max(...past.waiting, 0))}`, left, 11);
}
function showPast(got) {
  past = got;
  choices($("pastof"), "cpu", (got.names || []).filter(n => n !== "cpu"), where.of);
  $("span").value = where.span;
  $("pastat").textContent = got.t && got.t.length ? `${plural(got.t.length, "sample")}, one each ${got.step_s} s` : "no sample yet";
  drawPast();
}
function pastUnder(event) {
  if (!past || !past.t || !past.t.length) return;
  const box = $("chart").getBoundingClientRect(), length = pastLength();
  const at = past.wall_s - (1 - (event.clientX - box.left) / box.width) * length;
  let i = past.t.findIndex(t => t >= at);
  if (i < 0) i = past.t.length - 1;
  $("pastat").textContent = `${new Date(past.t[i] * 1000).toLocaleTimeString()}: ${amount(past.resource, past.used[i])} of ` +
    `${amount(past.resource, past.allocatable[i])} used, ${amount(past.resource, past.free[i])} free; ${plural(past.waiting[i], "gang")} waiting, ` +
    `${whole(past.running[i])} running, ${plural(past.binds[i], "binding")}`;
}
