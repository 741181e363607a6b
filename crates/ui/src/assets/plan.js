// Plans and questions: answers that take long come while the page can be read, and the editor of job files.

const SECOND = 1000;

/** Fills an element with the part of the same ID of a page; the page may take long. */
async function fill(target, address, options = {}) {
  target.fetching?.abort();
  const fetching = (target.fetching = new AbortController());
  const began = Date.now();
  const progress = document.createElement("p");
  const cancel = document.createElement("button");
  progress.className = "progress";
  cancel.type = "button";
  cancel.textContent = "Cancel";
  cancel.addEventListener("click", () => fetching.abort());
  const text = document.createElement("span");
  text.textContent = "Working on it… ";
  const seconds = document.createElement("span");
  seconds.ariaHidden = "true";
  progress.append(text, seconds, " ", cancel);
  target.replaceChildren(progress);
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
    const stopped = e.name === "AbortError";
    if (stopped && target.fetching !== fetching) return;
    target.textContent = stopped ? "Cancelled." : "The agent does not answer. Try again.";
  } finally {
    clearInterval(clock);
  }
  document.dispatchEvent(new Event("encamp:refreshed"));
}

/** Loads the answer of the address. */
function load() {
  for (const progress of document.querySelectorAll("[data-load]")) {
    const { load: address } = progress.dataset;
    progress.removeAttribute("data-load");
    fill(progress.closest("section"), address);
  }
}

/** Sends a form in the background, unless its button goes to another page or to a file. */
async function send(event) {
  const form = event.target;
  const button = event.submitter;
  const id = button?.dataset.answer ?? form.dataset.answer;
  if (!id || button?.dataset.plain !== undefined) return;
  event.preventDefault();
  const target = document.getElementById(id);
  const body = new URLSearchParams(new FormData(form, button));
  const filled = fill(target, button?.getAttribute("formaction") ?? form.action, { method: "POST", body });
  if (id === "answer") target.scrollIntoView({ block: "nearest" });
  await filled;
  // The page stays, so its buttons can be pressed again.
  form.sent = false;
}

/** The editor: line numbers, marks at the lines of diagnostics, indentation, a draft. */
class Editor {
  constructor(form) {
    this.form = form;
    this.text = form.querySelector("#text");
    this.key = `plan:${new URLSearchParams(location.search).get("job") ?? ""}`;
    this.leaving = false;
    this.lines = document.createElement("div");
    this.lines.className = "lines";
    this.lines.ariaHidden = "true";
    const box = document.createElement("div");
    box.className = "text";
    this.text.before(box);
    box.append(this.lines, this.text);
    form.querySelector("#editor-help").hidden = false;
    this.text.addEventListener("input", () => this.changed());
    this.text.addEventListener("scroll", () => (this.lines.scrollTop = this.text.scrollTop));
    this.text.addEventListener("keydown", (event) => this.pressed(event));
    this.text.addEventListener("blur", () => (this.leaving = false));
    new ResizeObserver(() => this.fit()).observe(this.text);
    document.addEventListener("encamp:refreshed", () => this.mark());
    document.addEventListener("click", (event) => this.follow(event));
    form.addEventListener("submit", (event) => {
      if (event.submitter?.formAction.endsWith("/register")) sessionStorage.removeItem(this.key);
    });
    this.restore();
    this.mark();
  }

  fit() {
    this.lines.style.height = `${this.text.offsetHeight}px`;
  }

  /** A draft of this tab takes the place of the text, which can be had back. */
  restore() {
    const given = this.text.value;
    const draft = sessionStorage.getItem(this.key);
    if (draft === null || draft === given) return;
    this.text.value = draft;
    const notice = document.createElement("p");
    notice.className = "muted";
    const back = document.createElement("button");
    back.type = "button";
    back.className = "quiet";
    back.textContent = "Discard the draft";
    back.addEventListener("click", () => {
      sessionStorage.removeItem(this.key);
      this.text.value = given;
      notice.remove();
      this.mark();
      this.text.focus();
    });
    notice.append("This is your draft of this tab. ", back);
    this.form.prepend(notice);
  }

  changed() {
    try {
      sessionStorage.setItem(this.key, this.text.value);
    } catch {
      // A draft that does not fit is not stored.
    }
    this.mark();
    this.checkLater();
    const answer = document.getElementById("answer");
    if (!answer.querySelector(".verdict") || answer.querySelector(".stale")) return;
    const notice = document.createElement("p");
    notice.className = "notice warning stale";
    notice.textContent = "You have edited the job file since: this is about the text before.";
    answer.prepend(notice);
  }

  /** Numbers the lines, and marks those that diagnostics name. */
  mark() {
    const count = this.text.value.split("\n").length;
    const severities = new Map();
    for (const item of document.querySelectorAll("li[data-line]")) {
      const line = Number(item.dataset.line);
      if (severities.get(line) !== "error") severities.set(line, item.dataset.severity);
    }
    const lines = document.createDocumentFragment();
    for (let line = 1; line <= count; line++) {
      const number = document.createElement("span");
      number.textContent = line;
      const severity = severities.get(line);
      if (severity) number.className = severity;
      lines.append(number);
    }
    this.lines.replaceChildren(lines);
    this.lines.scrollTop = this.text.scrollTop;
  }

  /** Tab indents; after Escape, it leaves the editor. */
  pressed(event) {
    if (event.key === "Escape") {
      this.leaving = true;
      return;
    }
    if (event.key !== "Tab" || event.ctrlKey || event.altKey || event.metaKey) {
      if (event.key !== "Shift") this.leaving = false;
      return;
    }
    if (this.leaving) return;
    event.preventDefault();
    const { value, selectionStart: start, selectionEnd: end } = this.text;
    const first = value.lastIndexOf("\n", start - 1) + 1;
    if (start === end && !event.shiftKey) return this.insert("  ");
    const block = value.slice(first, end);
    const moved = event.shiftKey ? block.replace(/^ {1,2}/gm, "") : block.replace(/^(?=.)/gm, "  ");
    if (moved === block) return;
    this.text.setSelectionRange(first, end);
    this.insert(moved);
    this.text.setSelectionRange(start === end ? first + moved.length : first, first + moved.length);
  }

  /** Replaces the selection so that the browser can undo it. */
  insert(text) {
    if (!document.execCommand("insertText", false, text)) {
      this.text.setRangeText(text, this.text.selectionStart, this.text.selectionEnd, "end");
      this.changed();
    }
  }

  /** A link to a line selects it. */
  follow(event) {
    const link = event.target.closest("a[data-line]");
    if (!link) return;
    event.preventDefault();
    const lines = this.text.value.split("\n");
    const line = Math.min(Number(link.dataset.line), lines.length);
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.text.focus();
    this.text.setSelectionRange(start, start + lines[line - 1].length);
    this.text.scrollTop = (this.text.scrollHeight / lines.length) * Math.max(line - 5, 0);
    this.text.scrollIntoView({ block: "nearest" });
  }

  /** Checks the text after a pause: the longer a check takes, the longer the pause. */
  checkLater() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      if (!this.text.value.trim()) return;
      const began = Date.now();
      const body = new URLSearchParams(new FormData(this.form));
      await fill(document.getElementById("check"), "/ui/plan/check", { method: "POST", body });
      this.pause = Math.min(Math.max((Date.now() - began) * 5, 1.5 * SECOND), 60 * SECOND);
    }, this.pause ?? 1.5 * SECOND);
  }
}

document.addEventListener("submit", send);
load();
const form = document.getElementById("job");
if (form) new Editor(form);
