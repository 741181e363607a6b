// A terminal: a command in a task, over a WebSocket that speaks as the API does.

import { Terminal } from "./xterm.mjs";

const ALIVE = 10_000; // milliseconds between messages that keep the connection
const FONT = { fontSize: 13, lineHeight: 1.2, fontFamily: 'ui-monospace, Menlo, Consolas, "Liberation Mono", monospace' };

const panel = document.getElementById("terminal");
const state = document.getElementById("terminal-state");
const again = document.getElementById("connect");

const create = document.createElement.bind(document);

/** In place of a <style> element, which the page's policy forbids: its text becomes a style sheet of the document. */
function sheetHolder() {
  const holder = create("meta");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  let text = "";
  Object.defineProperty(holder, "textContent", { get: () => text, set: (value) => sheet.replaceSync((text = value)) });
  return holder;
}

/** Attributes named `style` are forbidden too; the same declarations set by a script are not. */
function withoutStyleAttribute(made) {
  const set = made.setAttribute.bind(made);
  const get = made.getAttribute.bind(made);
  made.setAttribute = (name, value) => (name === "style" ? (made.style.cssText = value) : set(name, value));
  made.getAttribute = (name) => (name === "style" ? made.style.cssText : get(name));
  return made;
}

document.createElement = (name, options) => (name === "style" ? sheetHolder() : withoutStyleAttribute(create(name, options)));

const terminal = new Terminal({ ...FONT, cursorBlink: true, scrollback: 5000, screenReaderMode: true, theme: { background: "#11151b" } });
terminal.open(panel);

/** How many characters fit. */
function size() {
  const probe = panel.appendChild(create("span"));
  Object.assign(probe.style, { position: "absolute", visibility: "hidden", font: `${FONT.fontSize}px ${FONT.fontFamily}` });
  probe.textContent = "W".repeat(100);
  const width = probe.getBoundingClientRect().width / 100;
  probe.remove();
  const height = Math.ceil(FONT.fontSize * FONT.lineHeight * 1.2);
  return [Math.max(20, Math.floor((panel.clientWidth - 32) / width)), Math.max(5, Math.floor((panel.clientHeight - 16) / height))];
}

const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

let socket;
const send = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

function connect() {
  again.hidden = true;
  terminal.reset();
  state.textContent = "Connecting…";
  let end = "";
  socket = new WebSocket(panel.dataset.socket);
  socket.onopen = () => {
    state.textContent = "Connected.";
    terminal.focus();
    fit();
  };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    for (const part of [message.stdout, message.stderr]) if (part?.data) terminal.write(bytes(part.data));
    if (message.exited) end = `The command ended with exit code ${message.result?.exit_code ?? 0}.`;
  };
  socket.onclose = ({ reason }) => {
    state.textContent = end || reason || "The connection was closed.";
    again.hidden = false;
  };
}

function fit() {
  const [columns, rows] = size();
  terminal.resize(columns, rows);
  send({ tty_size: { height: rows, width: columns } });
}

terminal.onData((text) => send({ stdin: { data: base64(text) } }));
new ResizeObserver(fit).observe(panel);
setInterval(() => send({}), ALIVE);
again.addEventListener("click", connect);
fit();
connect();
