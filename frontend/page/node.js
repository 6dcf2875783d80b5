// ---- one node ----
function showNode(n) {
  const title = make("h3", n.node), facts = make("div", undefined, "facts"), grid = make("div", undefined, "grid"), labels = make("div", undefined, "labels");
  if (!n.present) title.append(make("span", " gone; pods still name it", "Waiting"));
  else if (n.cordoned) title.append(make("span", " cordoned", "Waiting"));
  facts.append(fact("pods", whole(n.pods_n)), fact("gangs", whole(new Set(n.pods.filter(p => p.gang).map(p => p.namespace + "/" + p.gang)).size)));
  for (const r of n.resources)
    grid.append(line(r.name, [[r.used / Math.max(r.allocatable, 1), r.used >= r.allocatable ? "full" : "used"]],
      `${amount(r.name, r.used)} of ${amount(r.name, r.allocatable)} used, ${amount(r.name, Math.max(r.allocatable - r.used, 0))} free`));
  for (const [text, effect] of n.taints) labels.append(make("span", `taint ${text} ${effect}`, "Waiting"));
  for (const [key, value] of n.labels.sort()) labels.append(make("span", value ? `${key}=${value}` : key));
  const table = make("table"), head = make("tr"), wide = make("div", undefined, "wide");
  for (const [text, kind] of [["pod", ""], ["gang", ""], ["stage", ""], ["priority", "n rare"], ["age", "n"], ["scheduler", "rare"]]) head.append(make("th", text, kind));
  table.append(head);
  for (const p of n.pods) {
    const row = make("tr"), of = make("td", undefined, "name");
    if (p.gang) of.append(link(`${p.namespace}/${p.gang}`, address("gang", `${p.namespace}/${p.gang}`)));
    row.append(make("td", `${p.namespace}/${p.pod}`, "name"), of, make("td", p.stage, p.stage), make("td", whole(p.priority), "n rare"), make("td", age(p.age_s), "n"), make("td", p.scheduler, "rare"));
    table.append(row);
  }
  wide.append(table);
  if (n.pods_n > n.pods.length) wide.append(make("div", `${whole(n.pods_n - n.pods.length)} more are not listed`, "dim"));
  $("node").replaceChildren(section("", title, facts, grid), section("Labels and taints", labels), section(`Pods: ${whole(n.pods_n)}`, wide));
}
