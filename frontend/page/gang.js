// ---- one gang ----
const fact = (name, value) => { const e = make("span", name + " ", "dim"); e.append(make("b", value)); return e; };
function section(title, ...children) {
  const e = make("section");
  if (title) e.append(make("h2", title));
  e.append(...children);
  return e;
}
function needRows(g) {
  const grid = make("div", undefined, "grid");
  if (g.need) grid.append(line("members that fit", [[g.fit / g.need, "have"]], `${whole(g.fit)} of ${whole(g.need)}`));
  for (const s of g.shortfalls || []) {
    const spare = s.free === undefined ? 0 : Math.max(0, Math.min(s.free, s.need) - s.have);
    const text = `${amount(s.resource, s.have)} of ${amount(s.resource, s.need)}` + (s.free === undefined ? "" :
      `; ${amount(s.resource, s.free)} free, most on one node: ${amount(s.resource, s.largest_free)}`);
    grid.append(line(s.resource, [[s.have / Math.max(s.need, 1), "have"], [spare / Math.max(s.need, 1), "useless"]], text));
  }
  return grid.children.length ? [grid] : [];
}
function rulesList(g) {
  if (!g.rules || !g.rules.length) return [];
  const table = make("table", undefined, "narrow");
  for (const r of g.rules) {
    const row = make("tr");
    row.append(make("td", `${whole(r.nodes)} of ${whole(g.nodes_n)} nodes`, "n"), make("td", r.reason, "name"));
    table.append(row);
  }
  return [table];
}
// Where a wait is far longer than all else it gets a third of the width, and the rest a scale of its own.
function fall(pod, scale) {
  const e = make("div", undefined, "fall");
  if (!pod.us) return e;
  let x = pod.start_us / scale.own * scale.width;
  pod.us.forEach((us, stage) => {
    const i = make("i", undefined, "s" + stage);
    const wide = stage === 2 && scale.waits ? us / scale.waits * (1 - scale.width) : us / scale.own * scale.width;
    i.style.left = x * 100 + "%"; i.style.width = wide * 100 + "%";
    i.title = `${scale.stages[stage][0]}: ${span(us)}, ${scale.stages[stage][1]}`;
    x += wide;
    e.append(i);
  });
  return e;
}
function scaleOf(g) {
  const own = p => p.us.reduce((sum, us, stage) => sum + (stage === 2 ? 0 : us), p.start_us), timed = g.pods.filter(p => p.us);
  const most = Math.max(...timed.map(own), 1), waits = Math.max(...timed.map(p => p.us[2] || 0), 0);
  if (waits > 3 * most) return { own: most, waits, width: 2 / 3, stages: g.stages };
  return { own: Math.max(...timed.map(p => own(p) + (p.us[2] || 0)), 1), waits: 0, width: 1, stages: g.stages };
}
const byName = (a, b) => a.pod.localeCompare(b.pod, "en", { numeric: true });
// Members that have no node and no binding yet: how many are in each stage, and their names.
function memberNames(g) {
  const stages = {}, names = make("div", undefined, "labels"), refusals = new Set();
  for (const pod of g.pods) {
    stages[pod.stage] = (stages[pod.stage] || 0) + 1;
    if (pod.refusal) refusals.add(`${pod.pod}: ${pod.refusal}`);
  }
  for (const pod of [...g.pods].sort(byName)) names.append(make("span", pod.pod, pod.stage));
  const text = Object.entries(stages).map(([stage, n]) => `${whole(n)} ${stage.toLowerCase()}`).join(", ");
  return [make("div", text + (g.pods_n > g.pods.length ? `; ${whole(g.pods_n - g.pods.length)} more are not listed` : ""), "reason dim"), names,
    ...[...refusals].slice(0, 5).map(text => make("div", text, "reason"))];
}
function memberRows(g) {
  if (!g.pods.some(p => p.node)) return memberNames(g);
  const table = make("table"), head = make("tr"), scale = scaleOf(g), timed = g.pods.some(p => p.us);
  for (const [text, kind] of [["pod"], ["node"], ["stage"], ...(timed ? [["from the watch to the binding"], ["took", "n rare"]] : []), ["age", "n rare"]])
    head.append(make("th", text, kind));
  table.append(head);
  for (const pod of [...g.pods].sort(byName)) {
    const row = make("tr"), node = make("td", undefined, "name"), took = pod.us ? pod.us.reduce((a, b) => a + b, 0) : 0;
    if (pod.node) node.append(link(pod.node, address("node", pod.node)));
    row.append(make("td", pod.pod, "name"), node, make("td", pod.stage, pod.stage));
    row.children[2].title = pod.refusal || "";
    if (timed) {
      const cell = make("td");
      cell.append(fall(pod, scale));
      row.append(cell, make("td", pod.us ? span(took) : "", "n rare"));
    }
    row.append(make("td", age(pod.age_s), "n rare"));
    table.append(row);
  }
  const wide = make("div", undefined, "wide"), keys = make("div", undefined, "dim keys");
  wide.append(table);
  if (timed)
    g.stages.forEach(([name, text], stage) => { const key = make("span", undefined); key.title = text; key.append(bar([[1, "s" + stage]]), name); keys.append(key); });
  if (g.pods_n > g.pods.length) keys.append(make("span", `${whole(g.pods_n - g.pods.length)} more members are not listed`));
  return [wide, keys];
}
function beforeList(g) {
  if (!g.position) return [];
  const text = g.before_n ? `${plural(g.before_n, "gang")} before it in the queue of ${whole(g.queued)}` : `It is the first of ${whole(g.queued)} in the queue.`;
  const list = make("ol");
  list.start = g.before_n - g.before.length + 1;
  for (const b of g.before) {
    const item = make("li");
    item.append(link(b.gang, address("gang", b.gang)), make("span", ` ${plural(b.members, "member")}, priority ${whole(b.priority)}, waited ${age(b.waited_s)}`, "dim"));
    list.append(item);
  }
  return [section(text, ...(g.before.length ? [list] : []))];
}
let shownGang = null;
function showGang(g) {
  shownGang = g;
  const title = make("h3", g.gang + " "), facts = make("div", undefined, "facts"), map = make("div", undefined, "map"), under = make("div", "\u00a0", "dim");
  title.append(make("span", g.state, STATES.includes(g.state) ? g.state : ""));
  facts.append(fact("members", `${whole(g.members)} of ${whole(g.quorum)} needed`), fact("placed", whole(g.placed)), fact("priority", whole(g.priority)), fact("age", age(g.age_s)));
  if (g.waited_s !== undefined) facts.append(fact("waited", age(g.waited_s)));
  if (g.position) facts.append(fact("position", `${whole(g.position)} of ${whole(g.queued)}`));
  if (g.succeeded || g.failed) facts.append(fact("succeeded", whole(g.succeeded)), fact("failed", whole(g.failed)));
  facts.append(fact("dialect", g.dialect));
  if (g.owners) facts.append(fact("of", g.owners));
  const top = section("", title, facts);
  if (g.reserved) top.append(make("div", "The backfill reservation is its: capacity that becomes free is kept for it.", "dim"));
  if (g.reason) top.append(make("div", g.reason, "reason"));
  const children = [top];
  if (g.reason && (g.need || (g.rules || []).length)) children.push(section("What it needs and what is there", ...needRows(g), ...rulesList(g)));
  children.push(...beforeList(g));
  children.push(section(`Members: ${whole(g.pods_n)}`, ...(g.pods.length ? memberRows(g) : [])));
  const nodes = new Set(g.pods.map(p => p.node).filter(n => n));
  if (nodes.size) children.push(section(`Its nodes: ${whole(nodes.size)}`, map, under));
  $("gang").replaceChildren(...children);
  if (nodes.size && cells) drawMap(map, under, cells, nodes);
}
