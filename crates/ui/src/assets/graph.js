// Draws what an allocation uses while its page is open.

const EVERY = 2000; // milliseconds between two figures
const KEPT = 90; // figures of a graph
const [WIDTH, HEIGHT, TOP] = [300, 80, 8]; // of the drawing; the line of the limit is at TOP

const panel = document.getElementById("usage");
const figures = [...(panel?.querySelectorAll("[data-graph]") ?? [])].map((figure) => ({ figure, values: [] }));

function draw({ figure, values }, value) {
  values.push(value);
  if (values.length > KEPT) values.shift();
  const limit = Number(figure.dataset.limit);
  const most = Math.max(limit, ...values, 1);
  const x = (i) => ((WIDTH * (i + KEPT - values.length)) / (KEPT - 1)).toFixed(1);
  const y = (v) => (HEIGHT - (v / most) * (HEIGHT - TOP)).toFixed(1);
  const line = values.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("");
  figure.querySelector(".line").setAttribute("d", line);
  figure.querySelector(".area").setAttribute("d", `${line}L${WIDTH} ${HEIGHT}L${x(0)} ${HEIGHT}Z`);
  for (const side of ["y1", "y2"]) figure.querySelector(".limit").setAttribute(side, y(limit));
  figure.querySelector("output").textContent = `${Math.round(value)} ${figure.dataset.unit}`;
}

async function read() {
  if (document.hidden) return;
  try {
    const answer = await fetch(panel.dataset.usage, { cache: "no-store" });
    if (!answer.ok) return;
    const usage = await answer.json();
    for (const graph of figures) draw(graph, usage[graph.figure.dataset.graph] ?? 0);
  } catch {
    // The page itself shows that the connection is lost.
  }
}

/** One reading at a time, however slow the client is. */
async function follow() {
  await read();
  if (panel.isConnected) setTimeout(follow, EVERY);
}

if (panel) follow();
