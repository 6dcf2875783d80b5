// ---- asking: one request at a time, each in its rhythm ----
let misses = 0, still = { progress: -1, since: 0 };
function said(text, bad) {
  $("state").textContent = text;
  $("state").className = bad ? "bad" : "";
}
function banner(text) {
  $("banner").textContent = text;
  $("banner").hidden = !text;
  document.body.classList.toggle("old", Boolean(text));
}
// The core's loop turns ten times a second, also when there is nothing to do.
function noProgress(state) {
  if (state.figures.progress !== still.progress) still = { progress: state.figures.progress, since: state.taken_ms };
  return state.states && state.taken_ms - still.since >= 3000 ? Math.round((state.taken_ms - still.since) / 1000) : 0;
}
function showState(state) {
  const stuck = noProgress(state);
  $("version").textContent = state.version;
  said(state.not_ready ? "not ready: " + state.not_ready : stuck ? "muster-core stands still" : "in step with the cluster", Boolean(state.not_ready || stuck));
  banner(state.stuck ? `${state.stuck}: nothing is placed until it does. What is below is old.`
    : stuck ? `muster-core has made no progress for ${stuck} s: nothing is placed until it does.`
    : !state.states ? "no muster-core is connected: nothing is placed. What is below is old." : "");
  showTiles(state);
  tasks.queues.off = !state.shares;
  if (!state.shares) $("shares").hidden = $("starts").hidden = true;
  if (!state.states) return;
  if (where.view === "overview") { showResources(state); showStates(state); }
}
const query = values => new URLSearchParams(Object.entries(values).filter(([, value]) => value)).toString();
const tasks = {
  state: { every: 1000, url: () => "/state.json", show: showState },
  gangs: { every: 1000, url: () => "/gangs.json?" + query({ filter: where.filter, state: where.state, sort: where.sort, down: where.down, from: where.from }), show: showGangs },
  cells: { every: 2000, url: () => "/cells.json?" + query({ label: where.label, resource: where.resource }), show: showCells },
  queues: { every: 2000, off: true, url: () => "/queues.json", show: showQueues },
  past: { every: 10000, url: () => "/history.json?" + query({ resource: where.of || "cpu", span: where.span }), show: showPast },
  gang: { every: 1000, url: () => "/gang.json?" + query({ name: where.name }), show: showGang },
  node: { every: 1000, url: () => "/node.json?" + query({ name: where.name }), show: showNode },
};
const VIEWS = { overview: ["state", "gangs", "queues", "cells", "past"], gang: ["state", "cells", "gang"], node: ["state", "node"] };
async function run(name) {
  const task = tasks[name], url = task.url(), answer = await fetch(url, { cache: "no-store" });
  if (url !== task.url() || !VIEWS[where.view].includes(name)) return; // something else is wanted by now
  if (answer.status === 404) {
    $(where.view).replaceChildren(section("", make("h3", where.name), make("div", `There is no ${where.view} of that name, or it ended.`, "dim")));
    return;
  }
  if (!answer.ok) throw new Error(String(answer.status));
  task.show(await answer.json());
}
async function ask() {
  for (const name of VIEWS[where.view]) {
    const task = tasks[name];
    if (document.hidden || task.off || (task.due || 0) > Date.now() || !VIEWS[where.view].includes(name)) continue;
    task.due = Date.now() + task.every;
    try {
      await run(name);
      if (name === "state") misses = 0;
    } catch (error) {
      task.due = Date.now() + 1000;
      if (name !== "state") continue;
      misses++;
      said(`no answer for ${misses} s (${error.message}); what is below is old`, true);
      document.body.classList.add("old");
    }
  }
  document.body.dataset.answers = Number(document.body.dataset.answers || 0) + 1;
}
let timer = null, busy = false, again = false;
async function turn() {
  clearTimeout(timer);
  if (busy) { again = true; return; }
  busy = true;
  do { again = false; await ask(); } while (again);
  busy = false;
  timer = setTimeout(turn, 250);
}
function refresh() {
  for (const task of Object.values(tasks)) if (task !== tasks.state) task.due = 0;
  turn();
}
function open() {
  readAddress();
  for (const view of Object.keys(VIEWS)) $(view).hidden = view !== where.view;
  document.title = where.view === "overview" ? "muster" : `${where.name} – muster`;
  document.querySelector("h1 a").href = address("overview", "");
  if (where.view !== "overview") $(where.view).replaceChildren();
  $("filter").value = where.filter; $("wanted").value = where.state; $("span").value = where.span;
  refresh();
}
$("filter").addEventListener("input", () => change("filter", $("filter").value));
$("wanted").addEventListener("change", () => change("state", $("wanted").value));
$("label").addEventListener("change", () => change("label", $("label").value));
$("resource").addEventListener("change", () => change("resource", $("resource").value));
$("pastof").addEventListener("change", () => change("of", $("pastof").value));
$("span").addEventListener("change", () => change("span", $("span").value));
$("chart").addEventListener("mousemove", pastUnder);
addEventListener("hashchange", open);
addEventListener("resize", () => { showMap(); drawPast(); });
night.addEventListener("change", () => { showMap(); drawPast(); });
document.addEventListener("visibilitychange", turn);
open();
