// ---- queues, and the starts that are promised; both only where there are any ----
// A bar of what is used: inside the guarantee, above it, and the rest of the guarantee, of the limit or all there is.
function queueBar(r, root) {
  const all = r.limit !== undefined && r.limit < r.all ? r.limit : r.all, part = n => all > 0 ? n / all : 0;
  const inside = root ? r.used : Math.min(r.used, r.guarantee), line = make("div", undefined, "amount");
  line.append(bar([[part(inside), "have"], [part(r.used - inside), "borrowed"], [part(Math.max(0, r.guarantee - inside)), "free"]]),
    `${amount(r.name, r.used)} of ${amount(r.name, all)} ${r.name}`);
  line.title = `${r.name}: used ${amount(r.name, r.used)}, guaranteed ${amount(r.name, r.guarantee)}, asked ${amount(r.name, r.asked)}, ` +
    (r.limit === undefined ? "no limit" : `limit ${amount(r.name, r.limit)}`) + `, ${amount(r.name, r.all)} there are`;
  return line;
}
function queueRow(q) {
  const row = make("tr"), name = make("td", q.queue, "name"), uses = make("td"), first = make("td", undefined, "name");
  name.style.paddingLeft = Math.min(q.depth, 8) + "rem";
  name.title = `${q.path} (${q.source})`;
  uses.append(...q.resources.map(r => queueBar(r, q.depth === 0)));
  if (q.first) first.append(link(q.first, address("gang", q.first)));
  row.append(name, make("td", q.state, q.state === "Open" ? "dim" : "Waiting"), uses, make("td", q.share === undefined ? "–" : q.share.toFixed(2), "n"),
    make("td", whole(q.waiting), "n"), make("td", whole(q.placed), "n"), first);
  return row;
}
const clockTime = ms => new Date(ms).toISOString().slice(11, 19);
// One line for each gang: from now to its promised start, a mark where it was first promised.
function startLine(g, now, last) {
  const line = make("div"), name = make("span"), chart = make("div", undefined, "fall"), part = ms => Math.max(0, Math.min(1, (ms - now) / (last - now)));
  const wait = make("i", undefined, g.soft ? "s2" : "s6"), first = make("i", undefined, g.first_ms < g.at_ms ? "full" : "s3");
  wait.style.left = "0"; wait.style.width = part(g.at_ms) * 100 + "%";
  first.style.left = `calc(${part(g.first_ms) * 100}% - 2px)`; first.style.width = "2px";
  chart.append(wait, first);
  chart.title = `${g.gang}: ${plural(g.members, "member")} on ${plural(g.nodes, "node")}` + (g.queue ? ` of queue ${g.queue}` : "") +
    `, first promised ${clockTime(g.first_ms)}, moved ${g.earlier} times earlier, ${g.later} later`;
  name.append(link(g.gang, address("gang", g.gang)));
  line.append(name, chart, make("span", `${clockTime(g.at_ms)} in ${age(Math.max(0, Math.round((g.at_ms - now) / 1000)))}` + (g.soft ? " (expected ends)" : ""), "dim"));
  return line;
}
function showQueues(got) {
  const now = got.wall_ms, last = Math.max(now + 1000, ...got.starts.flatMap(g => [g.at_ms, g.first_ms]));
  $("shares").hidden = got.queues_n === 0; $("starts").hidden = got.starts_n === 0;
  $("queues").replaceChildren(...got.queues.map(queueRow));
  $("queuesmore").textContent = got.told < got.queues_n ? `${whole(got.told)} of ${whole(got.queues_n)} queues` : "";
  $("gantt").replaceChildren(...got.starts.map(g => startLine(g, now, last)));
  $("startsmore").textContent = `until ${clockTime(last)} UTC` + (got.starts.length < got.starts_n ? `, the first ${whole(got.starts.length)} of ${whole(got.starts_n)}` : "");
}
