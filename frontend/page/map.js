// ---- heat map: cells in blocks, drawn into an element; a click opens the node ----
const night = matchMedia("(prefers-color-scheme: dark)");
// Full nodes stand out in both schemes: dark on light, light on dark.
const heat = share => night.matches ? `hsl(${Math.round(222 - share * 0.03)} ${Math.round(30 + share * 0.05)}% ${Math.round(21 + share * 0.053)}%)`
  : `hsl(${Math.round(205 + share * 0.03)} ${Math.round(45 + share * 0.03)}% ${Math.round(91 - share * 0.063)}%)`;

function cellSize(cells, wide) {
  return Math.max(5, Math.min(24, Math.floor(Math.sqrt(wide * 260 / Math.max(cells.share.length, 1)))));
}
function drawBlock(canvas, cells, from, n, columns, size, lit) {
  const gap = size > 6 ? 2 : 1, box = size - gap, c = sheet(canvas, columns * size, Math.max(1, Math.ceil(n / columns)) * size);
  canvas.style.width = columns * size + "px";
  for (let k = 0; k < n; k++) {
    const i = from + k, x = k % columns * size, y = Math.floor(k / columns) * size, flags = cells.flags[i];
    const off = lit && !lit.has(cells.name[i]);
    c.globalAlpha = off ? 0.3 : 1;
    c.fillStyle = flags & 6 ? css("--line") : heat(cells.share[i]);
    c.fillRect(x, y, box, box);
    if (flags & 3) {
      c.strokeStyle = css("--wait"); c.lineWidth = 1; c.beginPath(); c.moveTo(x, y); c.lineTo(x + box, y + box); c.stroke();
    }
    if (lit && !off) {
      c.strokeStyle = css("--wait"); c.lineWidth = 2; c.strokeRect(x + 1, y + 1, box - 2, box - 2);
    }
  }
}
const cellName = (cells, i) => cells.name[i] || `node ${i}`;
function cellText(cells, i) {
  const resource = cells.resources[cells.scarcest[i]] || "?", more = cells.nodes_per_cell > 1 ? " (the fullest of its cell)" : "";
  if (cells.flags[i] & 4) return `${cellName(cells, i)} has no ${resource}`;
  return `${cellName(cells, i)}: ${(cells.share[i] / 10).toFixed(1)} % of ${resource}${more}` + (cells.flags[i] & 1 ? ", cordoned" : "") +
    (cells.flags[i] & 2 ? ", gone; pods still name it" : "");
}
function blocksOf(cells) {
  return cells.blocks.map(([value, from, nodes], b) => ({ value, from, nodes, n: (b + 1 < cells.blocks.length ? cells.blocks[b + 1][1] : cells.share.length) - from }));
}
function drawMap(into, under, cells, lit) {
  const wide = into.clientWidth || 800, size = cellSize(cells, wide), most = Math.max(1, Math.floor(wide / size)), blocks = blocksOf(cells);
  into.replaceChildren(...blocks.map(({ value, from, nodes, n }) => {
    const block = make("div", undefined, "block"), canvas = make("canvas");
    const columns = Math.min(most, blocks.length === 1 ? most : Math.max(Math.ceil(Math.sqrt(n * 2.2)), Math.ceil(90 / size)));
    if (cells.label) {
      let sum = 0;
      for (let i = from; i < from + n; i++) sum += cells.share[i];
      block.append(make("div", `${value || "without the label"}: ${plural(nodes, "node")}, ${n ? (sum / n / 10).toFixed(0) : 0} %`));
    }
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `how full ${plural(nodes, "node")} are`);
    drawBlock(canvas, cells, from, n, columns, size, lit);
    const at = event => {
      const box = canvas.getBoundingClientRect(), x = Math.floor((event.clientX - box.left) / size);
      const k = Math.floor((event.clientY - box.top) / size) * columns + x;
      return x >= 0 && x < columns && k >= 0 && k < n ? from + k : -1;
    };
    canvas.addEventListener("mousemove", event => { const i = at(event); if (i >= 0) under.textContent = cellText(cells, i); });
    canvas.addEventListener("click", event => { const i = at(event); if (i >= 0 && cells.name[i]) location.hash = address("node", cells.name[i]); });
    block.append(canvas);
    return block;
  }));
}

let cells = null;
function showMap() {
  if (cells && where.view === "overview") drawMap($("map"), $("under"), cells, null);
}
function showCells(got) {
  cells = got;
  const each = got.nodes_per_cell;
  choices($("label"), "nothing", (got.labels || []).sort((a, b) => rankLabel(a) - rankLabel(b) || (a < b ? -1 : 1)), got.label);
  choices($("resource"), "the scarcest of each", (got.resources || []).filter(name => name), got.resource);
  $("legend").textContent = `${whole(got.nodes)}, ${each > 1 ? "up to " + each + " to a cell" : "one to a cell"}; ` +
    `the ${night.matches ? "lighter" : "darker"}, the fuller; a stroke: cordoned or gone`;
  if (where.view === "overview") showMap();
}
// What people look for first.
const rankLabel = key => /zone$/.test(key) ? 0 : /rack|block|row|topology/.test(key) ? 1 : /pool|nodegroup/.test(key) ? 2 : /instance-type/.test(key) ? 3 : 4;
