// Makes pages live: an open page follows the cluster, actions ask before they change much, and keys lead everywhere.
// Pages work without it.

const APART = 500; // milliseconds between two readings of the page
const POLL = 10_000; // milliseconds between two readings for a person who may not see events
const RETRY = 3000; // milliseconds until the next attempt to reach the agent
const CHORD = 1500; // milliseconds between the two keys of `g j`
const REPEATED = 300; // milliseconds in which a new stream repeats events of the past
const FED = 30; // events that a page lists
const UNITS = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

const byId = (id) => document.getElementById(id);
const typing = (element) => element.closest?.("input, textarea, select, [contenteditable], .terminal") != null;

/** An element with text and children. */
function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// --- The page follows the cluster.

let timer = 0;
let last = 0; // when the page was read
let took = 0; // how long that lasted
let events; // the open event stream
let denied = false; // whether the person may not see events
let opened = 0; // when it was opened

/** Something changed: the page is read again soon, and the less often the longer that takes. */
export function changed() {
  timer ||= setTimeout(refresh, Math.max(0, last + Math.max(APART, 4 * took) - Date.now()));
}

async function refresh() {
  const begun = Date.now();
  try {
    const answer = await fetch(location.href, { headers: { "X-Encamp-Live": "1" }, cache: "no-store" });
    if (answer.status >= 500) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = page.getElementById("main");
    if (main) morph(byId("main"), main);
    document.title = page.title || document.title;
    connected(true);
  } catch {
    connected(false);
    setTimeout(changed, RETRY);
  }
  last = Date.now();
  took = last - begun;
  timer = 0;
}

/** Makes one element like another. What a person has opened, typed or chosen stays, and so does what a script keeps. */
function morph(from, to) {
  const kept = (node) => node instanceof Element && node.matches("[data-keep], [data-typed], dialog");
  Idiomorph.morph(from, to, {
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed: (node) => !kept(node),
      beforeNodeRemoved: (node) => !kept(node),
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details")),
    },
  });
  document.dispatchEvent(new Event("encamp:refreshed"));
}

function follow() {
  const topics = byId("main").dataset.topics;
  if (!topics || events || denied || document.hidden) return;
  const query = new URLSearchParams(topics.split(" ").map((topic) => ["topic", decodeURIComponent(topic)]));
  const namespace = new URLSearchParams(location.search).get("namespace");
  if (namespace) query.set("namespace", namespace);
  events = new EventSource(`/ui/live?${query}`);
  events.onmessage = ({ data }) => {
    if (Date.now() - opened > REPEATED) feed(JSON.parse(data));
    changed();
  };
  events.onopen = () => {
    opened = Date.now();
    connected(true);
  };
  events.addEventListener("denied", () => {
    denied = true;
    leave();
    setInterval(() => document.hidden || changed(), POLL);
  });
  events.onerror = () => {
    connected(false);
    if (events?.readyState === EventSource.CLOSED) {
      leave();
      setTimeout(follow, RETRY);
    }
  };
}

/** Adds events to the list of a page that has one, the newest first. */
function feed(all) {
  const list = byId("feed");
  if (!list) return;
  for (const { topic, key, namespace } of all) {
    const id = encodeURIComponent(key);
    const page = { Job: `jobs/${id}@${encodeURIComponent(namespace)}`, Evaluation: `evaluations?currentEval=${id}` }[topic];
    const to = page ?? { Allocation: "allocations/", Deployment: "deployments/", Node: "clients/" }[topic]?.concat(id);
    const name = to ? element("a", { href: `/ui/${to}`, textContent: key }) : key;
    const time = element("time", { dateTime: new Date().toISOString(), textContent: "now" });
    list.prepend(element("li", {}, time, ` ${topic} `, name));
  }
  while (list.children.length > FED) list.lastChild.remove();
}

function leave() {
  events?.close();
  events = undefined;
}

/** Shows a lost connection. When it is back, the page is read again. */
function connected(now) {
  const shown = document.querySelector(".connection");
  if (shown.hidden !== now && now) changed();
  shown.hidden = now;
}

// Browsers allow few connections to a host: a page that nobody sees holds none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return leave();
  if (byId("main").dataset.topics) changed();
  follow();
});
addEventListener("pagehide", leave);
addEventListener("pageshow", follow);

/** Writes again how long ago things were. */
function tick() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const text = relative(Math.trunc((Date.now() - Date.parse(time.dateTime)) / 1000));
    if (time.textContent !== text) time.textContent = text;
  }
}

function relative(seconds) {
  if (seconds === 0) return "now";
  let rest = Math.abs(seconds);
  const words = [];
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length);
    rest %= length;
    if (count > 0) words.push(`${count}${unit}`);
    if (words.length === 2 || (words.length && count === 0)) break;
  }
  return seconds > 0 ? `${words.join(" ")} ago` : `in ${words.join(" ")}`;
}

// --- Forms.

document.addEventListener("input", ({ target }) => target.form?.method === "post" && target.form.setAttribute("data-typed", ""));
document.addEventListener("reset", ({ target }) => target.removeAttribute("data-typed"));
document.addEventListener("submit", (event) => {
  const form = event.target;
  const question = event.submitter?.dataset.question;
  if (question && !event.submitter.asked) {
    event.preventDefault();
    ask(question, event.submitter);
    return;
  }
  if (form.method === "post") {
    // A second press of the button changes nothing twice.
    if (form.sent) event.preventDefault();
    form.sent = true;
    setTimeout(() => (form.sent = false), RETRY);
  }
});

/** Asks before a button does what it says. */
function ask(question, button) {
  const go = element("button", { type: "button", className: "main", textContent: button.textContent.trim() });
  const stay = element("button", { type: "button", textContent: "Cancel", autofocus: true });
  const dialog = show(question, element("div", { className: "choices" }, stay, go));
  stay.onclick = () => dialog.close();
  go.onclick = () => {
    dialog.close();
    button.asked = true;
    button.form.requestSubmit(button);
    button.asked = false;
  };
}

/** A dialog that is removed when it closes. */
function show(title, ...content) {
  const heading = element("h2", { id: "dialog-title", textContent: title });
  const dialog = element("dialog", {}, heading, ...content);
  dialog.setAttribute("aria-labelledby", heading.id);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

// --- Copying.

document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  const label = (button.label ??= button.textContent);
  button.textContent = (await copy(button.dataset.copy)) ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = label), CHORD);
});

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers have no clipboard for addresses without TLS other than localhost.
    const area = element("textarea", { value: text, readOnly: true });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// --- Keys: `/` searches, `g` and a letter lead to an area, `j` and `k` go through a list, `?` shows them all.

let chord = 0; // when `g` was pressed

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target.matches?.(".search input")) return event.target.blur();
  if (typing(event.target) || document.querySelector("dialog[open]")) return;
  if (Date.now() - chord < CHORD) {
    chord = 0;
    const area = areas().find((link) => link.dataset.key === event.key);
    if (area) location.assign(area.href);
    return;
  }
  const act = { "/": search, g: () => (chord = Date.now()), j: () => step(1), k: () => step(-1), "?": help }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

const areas = () => [...document.querySelectorAll(".areas a[data-key]")];

function search() {
  const field = document.querySelector(".search input");
  field.focus();
  field.select();
}

/** Moves to the next or the previous row of the lists. */
function step(by) {
  const links = [...document.querySelectorAll("main tbody th a")];
  const at = links.indexOf(document.activeElement);
  links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}

function help() {
  const keys = [["/", "search"], ["j", "next row"], ["k", "previous row"], ["?", "keys"]];
  const all = keys.concat(areas().map((link) => [`g ${link.dataset.key}`, link.textContent]));
  const list = element("dl", {});
  for (const [key, does] of all) list.append(element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: does }));
  const close = element("button", { type: "button", textContent: "Close", autofocus: true });
  const dialog = show("Keys", list, element("div", { className: "choices" }, close));
  close.onclick = () => dialog.close();
}

// The times of a file are relative to the moment of its state, which stays.
if ("live" in byId("main").dataset) setInterval(tick, 1000);
follow();
