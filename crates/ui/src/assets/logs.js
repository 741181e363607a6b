// Follows a log. What is shown stays within a limit, and the end stays in view unless a person scrolls up.

const MOST = 500_000; // characters that are shown
const RETRY = 2000; // milliseconds until a lost stream is opened again

const log = document.getElementById("log");
const state = document.getElementById("log-state");
const pause = document.getElementById("pause");
let shown; // the text of the log
let reading; // what ends the stream; nothing after the end of the log
let paused = false;
let waiting = ""; // what came while it was paused

const say = (text) => (state.textContent = text);

function add(text) {
  if (paused) {
    waiting = (waiting + text).slice(-MOST);
    return;
  }
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  shown.appendData(text);
  if (shown.length > MOST) shown.deleteData(0, shown.length - MOST);
  if (atEnd) log.scrollTop = log.scrollHeight;
}

/** Reads until the task ends, or until nobody sees the page. */
async function follow() {
  reading = new AbortController();
  const { signal } = reading;
  try {
    const answer = await fetch(log.dataset.log, { cache: "no-store", signal });
    if (!answer.ok) throw new Error(await answer.text());
    log.textContent = "";
    shown = log.appendChild(document.createTextNode(""));
    say("Following.");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) add(part.value);
    say("The log has ended.");
    reading = undefined;
  } catch (e) {
    if (signal.aborted) return;
    say(e instanceof TypeError ? "Connection lost. Trying again…" : e.message);
    setTimeout(follow, RETRY);
  }
}

// Browsers allow few connections to a host: a page that nobody sees holds none. It reads the end again when it is seen.
document.addEventListener("visibilitychange", () => {
  if (paused || !reading) return;
  if (document.hidden) reading.abort();
  else follow();
});

pause.hidden = false;
pause.addEventListener("click", () => {
  paused = !paused;
  pause.textContent = paused ? "Continue" : "Pause";
  pause.setAttribute("aria-pressed", paused);
  if (!paused) add(waiting);
  waiting = paused ? waiting : "";
});
log.scrollTop = log.scrollHeight;
follow();
