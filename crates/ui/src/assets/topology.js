// Enlarges the picture of the nodes by its viewBox, and reads the allocations of nodes that are large enough.

const LARGE = 56; // pixels of a node's side from which its allocations are drawn
const AT_ONCE = 64; // nodes whose allocations are read by one request
const STEP = 1.5;
const KEYS = { "+": [STEP], "=": [STEP], "-": [1 / STEP], 0: [0], ArrowLeft: [1, -0.2, 0], ArrowRight: [1, 0.2, 0], ArrowUp: [1, 0, -0.2], ArrowDown: [1, 0, 0.2] };

const numbers = (text) => text.split(" ").map(Number);
const byNode = new Map(); // drawn allocations by node; null while they are read
let view = null; // what the picture shows; null: all of it
let drawnFor = ""; // the address that the allocations were read from
let waiting = 0;
const attached = new WeakSet();

// The pictures of the page: nodes before and after a plan have the same places, so they show the same part.
function pictures() {
  return [...document.querySelectorAll("figure.topology")].map((figure) => ({ figure, svg: figure.querySelector(".view > svg") }));
}

function show() {
  for (const { figure, svg } of pictures()) {
    const box = (view ?? numbers(svg.dataset.whole)).map((n) => Math.round(n * 100) / 100).join(" ");
    if (svg.getAttribute("viewBox") !== box) svg.setAttribute("viewBox", box);
    figure.classList.toggle("zoomed", view !== null);
  }
  clearTimeout(waiting);
  waiting = setTimeout(read, 150);
}

// Enlarges by a factor around a point of the picture (its middle without one), or moves by shares of what is seen.
function change(factor, right = 0, down = 0, at = null) {
  const [{ svg }] = pictures();
  const [left, top, width, height] = numbers(svg.dataset.whole);
  const [x, y, w, h] = view ?? [left, top, width, height];
  const size = Math.min(width, Math.max(20, factor ? w / factor : width));
  if (factor === 0 || (size >= width && factor !== 1)) {
    view = null;
  } else {
    const point = at ?? [x + w / 2, y + h / 2];
    const tall = (h * size) / w;
    const keep = size / w;
    const nx = point[0] - (point[0] - x) * keep + right * size;
    const ny = point[1] - (point[1] - y) * keep + down * tall;
    view = [Math.min(left + width - size / 2, Math.max(left - size / 2, nx)), Math.min(top + height - tall / 2, Math.max(top - tall / 2, ny)), size, tall];
  }
  show();
}

function pointOf(event, svg) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [point.x, point.y];
}

// The nodes that are seen, nearest to the middle first.
function seen(svg) {
  const frame = svg.getBoundingClientRect();
  const middle = [frame.left + frame.width / 2, frame.top + frame.height / 2];
  const found = [];
  for (const rect of svg.querySelectorAll(":scope > a > rect")) {
    const at = rect.getBoundingClientRect();
    if (at.right < frame.left || at.left > frame.right || at.bottom < frame.top || at.top > frame.bottom) continue;
    const id = decodeURIComponent(rect.parentNode.getAttribute("href").split("/").pop());
    found.push({ id, rect, far: Math.hypot(at.left - middle[0], at.top - middle[1]) });
  }
  return found.sort((a, b) => a.far - b.far);
}

async function read() {
  const { figure, svg } = pictures().find(({ figure }) => figure.dataset.pieces) ?? {};
  if (!svg) return;
  const from = figure.dataset.pieces;
  if (from !== drawnFor) {
    byNode.clear();
    drawnFor = from;
  }
  const scale = svg.getScreenCTM()?.a ?? 0;
  if (scale * 14 < LARGE) {
    svg.querySelectorAll(":scope > g.read").forEach((g) => g.remove());
    return;
  }
  const nodes = seen(svg).slice(0, 4 * AT_ONCE);
  const missing = nodes.filter(({ id }) => !byNode.has(id)).slice(0, AT_ONCE);
  if (missing.length > 0) {
    missing.forEach(({ id }) => byNode.set(id, null));
    const query = missing.map(({ id }) => `&node=${encodeURIComponent(id)}`).join("");
    try {
      const answer = await fetch(from + (from.includes("?") ? "" : "?") + query);
      if (!answer.ok) throw new Error(answer.statusText);
      const drawn = new DOMParser().parseFromString(await answer.text(), "image/svg+xml");
      drawn.querySelectorAll("g[data-node]").forEach((g) => byNode.set(g.dataset.node, g));
    } catch {
      missing.forEach(({ id }) => byNode.delete(id)); // the next change of the view reads them again
      return;
    }
    if (nodes.some(({ id }) => !byNode.has(id))) show();
  }
  const there = new Set([...svg.querySelectorAll(":scope > g.read")].map((g) => g.dataset.node));
  for (const { id, rect } of nodes) {
    const pieces = byNode.get(id);
    if (!pieces || there.has(id)) continue;
    const copy = document.importNode(pieces, true);
    copy.setAttribute("class", "read");
    copy.setAttribute("transform", `translate(${rect.getAttribute("x")} ${rect.getAttribute("y")})`);
    svg.append(copy);
  }
}

// Adds what the server does not draw: buttons, keys, dragging. An update of the page removes it, so this is repeated.
function attach({ figure, svg }) {
  if (!figure.querySelector(".zoom")) {
    svg.parentNode.before(buttons());
    byNode.clear(); // the page is new, so are the allocations
  }
  svg.parentNode.tabIndex = 0;
  if (attached.has(figure)) return;
  attached.add(figure);
  svg.parentNode.addEventListener("keydown", (event) => {
    const key = KEYS[event.key];
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    change(...key);
  });
  svg.addEventListener("dblclick", (event) => change(STEP * STEP, 0, 0, pointOf(event, svg)));
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && view === null) return; // the page scrolls
    event.preventDefault();
    change(event.deltaY < 0 ? 1.2 : 1 / 1.2, 0, 0, pointOf(event, svg));
  }, { passive: false });
  drag(svg);
}

function buttons() {
  const row = document.createElement("div");
  row.className = "zoom";
  for (const [label, sign, factor] of [["Enlarge", "+", STEP], ["Reduce", "−", 1 / STEP], ["Show all nodes", "All", 0]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => change(factor));
    row.append(button);
  }
  return row;
}

function drag(svg) {
  let from = null;
  let moved = false;
  svg.addEventListener("pointerdown", (event) => {
    if (view === null || event.button !== 0) return;
    from = pointOf(event, svg);
    moved = false;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!from || event.buttons === 0) return void (from = null);
    const [x, y] = pointOf(event, svg);
    moved ||= Math.hypot(x - from[0], y - from[1]) > view[2] / 200;
    if (moved) change(1, (from[0] - x) / view[2], (from[1] - y) / view[3]);
  });
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  // The end of a move is no click on the node below.
  svg.addEventListener("click", (event) => moved && event.preventDefault(), true);
}

function begin() {
  pictures().forEach(attach);
  show();
}

begin();
document.addEventListener("encamp:refreshed", begin);
