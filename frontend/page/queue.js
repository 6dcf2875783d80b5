// ---- the queue ----
const STATES = ["Waiting", "Degraded", "Binding", "Pending", "Running", "Failed", "Finished"];
const fields = [["position", "#", "n"], ["gang", "gang", "name"], ["state", "state", ""], ["why", "has of what it needs", "why"], ["waited_s", "waited", "n"],
  ["members", "members", "n rare"], ["placed", "placed", "n rare"], ["priority", "priority", "n rare"], ["age_s", "age", "n rare"], ["dialect", "dialect", "rare"]];
const SORTED = ["gang", "state", "waited_s", "members", "placed", "priority", "age_s", "position"];
for (const [key, text, kind] of fields) {
  const head = make("th", undefined, kind.replace("name", "").replace("why", ""));
  head.dataset.key = key;
  if (SORTED.includes(key)) {
    const button = make("button", text);
    button.addEventListener("click", () => {
      const sort = key === "position" ? "" : key, again = where.sort === sort;
      where.down = again && !where.down ? "1" : "";
      change("sort", sort);
    });
    head.append(button);
  } else {
    head.textContent = text;
  }
  $("heads").append(head);
}
choices($("wanted"), "all states", ["waits", ...STATES], "");
$("wanted").options[1].textContent = "all that wait";

// muster's own part of a reason: what comes after kube-scheduler's sentence.
function clause(reason) {
  const at = reason.indexOf(". gang ");
  const rest = at < 0 ? reason : reason.slice(at + 2), colon = rest.indexOf(": ");
  return rest.startsWith("gang ") && colon > 0 ? rest.slice(colon + 2) : rest;
}
function haveOfNeed(g) {
  if (g.lack) {
    const { resource, need, have } = g.lack, part = `${amount(resource, have)} of ${amount(resource, need)} ${resource}`;
    return [[[have / need, "have"]], part + (g.need ? `; ${g.fit} of ${g.need} members fit` : "")];
  }
  if (g.state === "Pending" && g.quorum) return [[[g.members / g.quorum, "have"]], `${g.members} of ${g.quorum} members`];
  if (g.reason && g.need && g.fit < g.need) return [[[g.fit / g.need, "have"]], `${g.fit} of ${g.need} members fit; ${clause(g.reason)}`];
  return [null, g.reason ? clause(g.reason) : ""];
}
function gangRow(g) {
  const row = make("tr");
  for (const [key, , kind] of fields) {
    const cell = make("td", undefined, kind);
    if (key === "gang") cell.append(link(g.gang, address("gang", g.gang)));
    else if (key === "why") {
      const [parts, text] = haveOfNeed(g);
      if (parts) cell.append(bar(parts));
      cell.append(text);
      cell.title = g.reason || "";
    } else {
      const value = g[key];
      cell.textContent = value === undefined ? "" : key === "age_s" || key === "waited_s" ? age(value) : key === "priority" ? whole(value) : String(value);
      if (key === "state" && STATES.includes(g.state)) cell.className = g.state;
    }
    row.append(cell);
  }
  return row;
}
function showGangs(got) {
  const from = got.from, last = from + got.told;
  $("gangs").replaceChildren(...got.gangs.map(gangRow));
  for (const head of $("heads").children) {
    if (where.sort === head.dataset.key) head.setAttribute("aria-sort", where.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  $("more").textContent = got.chosen === 0 ? "no gang" : `${whole(from + 1)} to ${whole(last)} of ${whole(got.chosen)}` +
    (got.chosen < got.gangs_n ? ` that the filter lets through, of ${whole(got.gangs_n)}` : "");
  $("back").hidden = from === 0; $("next").hidden = last >= got.chosen;
  $("back").onclick = () => change("from", String(Math.max(0, from - 100)));
  $("next").onclick = () => change("from", String(last));
}
function showStates(state) {
  $("states").textContent = Object.entries(state.states).map(([name, n]) => `${whole(n)} ${name.toLowerCase()}`).join(", ");
  $("held").replaceChildren();
  if (state.reserved_for)
    $("held").append("capacity is reserved for ", link(state.reserved_for, address("gang", state.reserved_for)));
}
