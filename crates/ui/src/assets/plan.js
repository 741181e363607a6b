// Plans and questions: answers that take long come while the page can be read, and the editor of job files.

const SECOND = 1000;
const byId = (id) => document.getElementById(id);

function make(tag, properties, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

/** Fills an element with the part of the same ID of a page; the page may take long. */
async function fill(target, address, options = {}) {
  target.fetching?.abort();
  const fetching = (target.fetching = new AbortController());
  const began = Date.now();
  const seconds = make("span", { ariaHidden: "true" });
  const cancel = make("button", { type: "button", textContent: "Cancel", onclick: () => fetching.abort() });
  target.replaceChildren(make("p", { className: "progress" }, "Working on it… ", seconds, " ", cancel));
  const clock = setInterval(() => (seconds.textContent = `${Math.round((Date.now() - began) / SECOND)} s`), SECOND);
  try {
    const response = await fetch(address, { ...options, signal: fetching.signal, credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.getElementById(target.id) ?? page.querySelector("main") ?? page.body;
    found.querySelector("h1")?.remove();
    target.replaceChildren(...found.childNodes);
    // Scripts of a page that was read do not run by themselves.
    for (const script of target.querySelectorAll("script[src]")) await import(script.src);
  } catch (e) {
    if (target.fetching !== fetching) return;
    target.textContent = e.name === "AbortError" ? "Cancelled." : "The agent does not answer. Try again.";
  } finally {
    clearInterval(clock);
  }
  document.dispatchEvent(new Event("encamp:refreshed"));
}

/** Sends a form in the background, unless its button goes to another page or to a file. */
document.addEventListener("submit", async (event) => {
  const { target: form, submitter: button } = event;
  const id = button?.dataset.answer ?? form.dataset.answer;
  if (!id || button?.dataset.plain !== undefined) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, button));
  const filled = fill(byId(id), button?.getAttribute("formaction") ?? form.action, { method: "POST", body });
  if (id === "answer") byId(id).scrollIntoView({ block: "nearest" });
  await filled;
  // The page stays, so its buttons can be pressed again.
  form.sent = false;
});

/** The editor: line numbers, marks at the lines of diagnostics, indentation, a draft. */
class Editor {
  leaving = false;
  pause = 1.5 * SECOND;
  lines = make("div", { className: "lines", ariaHidden: "true" });

  constructor(form) {
    this.form = form;
    this.text = byId("text");
    this.key = `plan:${location.search}`;
    this.text.before(make("div", { className: "text" }));
    this.text.previousElementSibling.append(this.lines, this.text);
    byId("editor-help").hidden = false;
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("scroll", () => (this.lines.scrollTop = this.text.scrollTop));
    this.text.addEventListener("keydown", (event) => this.pressed(event));
    document.addEventListener("encamp:refreshed", () => this.mark());
    document.addEventListener("click", (event) => this.follow(event));
    const registers = ({ submitter }) => submitter?.formAction.endsWith("/register");
    form.addEventListener("submit", (event) => registers(event) && sessionStorage.removeItem(this.key));
    this.restore();
    this.mark();
  }

  /** A draft of this tab takes the place of the text, which can be had back. */
  restore() {
    const [given, draft] = [this.text.value, sessionStorage.getItem(this.key)];
    if (draft === null || draft === given) return;
    this.text.value = draft;
    const back = make("button", { type: "button", className: "quiet", textContent: "Discard the draft" });
    const notice = make("p", { className: "muted" }, "This is your draft of this tab. ", back);
    back.onclick = () => {
      sessionStorage.removeItem(this.key);
      this.text.value = given;
      notice.remove();
      this.mark();
      this.text.focus();
    };
    this.form.prepend(notice);
  }

  changed() {
    // A draft that does not fit is not stored.
    try { sessionStorage.setItem(this.key, this.text.value); } catch {}
    this.mark();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.check(), this.pause);
    const answer = byId("answer");
    if (!answer.querySelector(".verdict") || answer.querySelector(".stale")) return;
    answer.prepend(make("p", { className: "notice warning stale" }, "You have edited the job file since: this is about the text before."));
  }

  /** Checks the text after a pause: the longer a check takes, the longer the next pause. */
  async check() {
    if (!this.text.value.trim()) return;
    const began = Date.now();
    const body = new URLSearchParams(new FormData(this.form));
    await fill(byId("check"), "/ui/plan/check", { method: "POST", body });
    this.pause = Math.min(Math.max((Date.now() - began) * 5, 1.5 * SECOND), 60 * SECOND);
  }

  /** Numbers the lines, and marks those that diagnostics name. */
  mark() {
    const severities = new Map();
    const items = [...document.querySelectorAll("li[data-line]")].map(({ dataset }) => [dataset.line, dataset.severity]);
    for (const [line, severity] of items) if (severities.get(line) !== "error") severities.set(line, severity);
    const numbers = this.text.value.split("\n").map((_, i) => `${i + 1}`);
    this.lines.replaceChildren(...numbers.map((n) => make("span", { className: severities.get(n) ?? "", textContent: n })));
    this.lines.scrollTop = this.text.scrollTop;
  }

  /** Tab indents; after Escape, it leaves the editor. */
  pressed(event) {
    const tab = event.key === "Tab" && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (!tab && event.key !== "Shift") this.leaving = event.key === "Escape";
    if (!tab || this.leaving) return void (tab && (this.leaving = false));
    event.preventDefault();
    const { value, selectionStart: start, selectionEnd: end } = this.text;
    if (start === end && !event.shiftKey) return this.insert("  ");
    const first = value.lastIndexOf("\n", start - 1) + 1;
    const block = value.slice(first, end);
    const moved = event.shiftKey ? block.replace(/^ {1,2}/gm, "") : block.replace(/^(?=.)/gm, "  ");
    if (moved === block) return;
    this.text.setSelectionRange(first, end);
    this.insert(moved);
    this.text.setSelectionRange(start === end ? first + moved.length : first, first + moved.length);
  }

  /** Replaces the selection so that the browser can undo it. */
  insert(text) {
    if (document.execCommand("insertText", false, text)) return;
    this.text.setRangeText(text, this.text.selectionStart, this.text.selectionEnd, "end");
    this.changed();
  }

  /** A link to a line selects it. */
  follow(event) {
    const link = event.target.closest("a[data-line]");
    if (!link) return;
    event.preventDefault();
    const lines = this.text.value.split("\n");
    const line = Math.min(link.dataset.line, lines.length);
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + lines[line - 1].length);
    this.text.scrollTop = (this.text.scrollHeight / lines.length) * Math.max(line - 5, 0);
    this.text.scrollIntoView({ block: "nearest" });
  }
}

for (const progress of document.querySelectorAll("[data-load]")) fill(progress.closest("section"), progress.dataset.load);
if (byId("job")) new Editor(byId("job"));
