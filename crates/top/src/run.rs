//! The loop: keys, requests, events and signals change the state; the terminal shows it, and is restored at the end.

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use encamp_ui::{Cluster, Source};
use futures_util::StreamExt as _;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::draw;
use crate::model::{Effect, Message, State};
use crate::signals;

/// How long the loop waits for a key before it looks at answers.
const WAIT: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
/// The shortest time between two reads of a view: many events lead to one read.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// The time between two reads of a view without events.
const REFRESH: Duration = Duration::from_secs(10);
/// The pause before the event stream is opened again.
const REOPEN: Duration = Duration::from_secs(5);
/// The longest answer, in bytes.
const MAX_ANSWER: usize = 256 << 20;

/// Shows a cluster until the person or a signal ends it.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(cluster: Arc<dyn Cluster>, runtime: &Runtime, colours: bool) -> io::Result<()> {
    let (name, live, taken) = match cluster.source() {
        Source::Agent { region, .. } => (region.clone(), true, 0),
        Source::Address(address) => (address.clone(), true, 0),
        Source::File { name, taken } => (name.clone(), false, *taken),
    };
    let (sender, messages) = channel();
    let changed = Arc::new(AtomicBool::new(false));
    let stopped = Arc::new(AtomicBool::new(false));
    runtime.block_on(async { signals::watch(sender.clone(), stopped.clone()) })?;
    if live {
        runtime.spawn(follow(cluster.clone(), changed.clone()));
    }
    let mut screen = Screen::open()?;
    let state = State::new(name);
    // Times in a file are relative to the moment at which it was written.
    let at = (taken > 0).then_some(taken);
    let mut top = Loop { cluster, runtime, sender, messages, changed, stopped, state, live, at, fetching: None };
    top.go(&mut screen, colours)
}

struct Loop<'a> {
    cluster: Arc<dyn Cluster>,
    runtime: &'a Runtime,
    sender: Sender<Message>,
    messages: Receiver<Message>,
    changed: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
    state: State,
    live: bool,
    /// The moment of a file.
    at: Option<i64>,
    /// When the last read of a view began, and whether its answer is still to come.
    fetching: Option<(Instant, bool)>,
}

impl Loop<'_> {
    fn go(&mut self, screen: &mut Screen, colours: bool) -> io::Result<()> {
        self.fetch();
        let (mut fresh, mut drawn) = (true, Instant::now());
        loop {
            // Relative times change each second.
            if fresh || drawn.elapsed() >= SECOND {
                (fresh, drawn) = (false, Instant::now());
                self.state.update(Message::Time(self.at.unwrap_or_else(now)));
                self.state.page = draw::page(screen.terminal.size()?.height);
                screen.terminal.draw(|frame| draw::draw(&self.state, colours, frame))?;
            }
            let mut effects = Vec::new();
            if event::poll(WAIT)? {
                fresh = true;
                effects.extend(message_of(event::read()?).and_then(|message| self.state.update(message)));
            }
            while let Ok(message) = self.messages.try_recv() {
                fresh = true;
                if matches!(message, Message::List(..)) {
                    self.fetching = self.fetching.map(|(begun, _)| (begun, false));
                }
                effects.extend(self.state.update(message));
            }
            if self.stopped.swap(false, Ordering::AcqRel) {
                effects.push(Effect::Suspend);
            }
            if self.is_due() {
                self.fetch();
            }
            for effect in effects {
                match effect {
                    Effect::Quit => return Ok(()),
                    Effect::Fetch(_) => self.fetch(),
                    Effect::Describe(path) => {
                        let (cluster, sender) = (self.cluster.clone(), self.sender.clone());
                        self.runtime.spawn(async move { sender.send(Message::Object(read(&*cluster, &path).await)) });
                    }
                    Effect::Suspend => {
                        restore();
                        signals::stop_process()?;
                        take()?;
                        screen.terminal.clear()?;
                        fresh = true;
                    }
                }
            }
        }
    }

    /// Whether the view is to be read again: something changed, or it is old.
    fn is_due(&self) -> bool {
        let Some((begun, false)) = self.fetching else { return false };
        let age = begun.elapsed();
        self.live && (age > REFRESH || age > DEBOUNCE && self.changed.load(Ordering::Acquire))
    }

    fn fetch(&mut self) {
        self.changed.store(false, Ordering::Release);
        self.fetching = Some((Instant::now(), true));
        let (cluster, sender, view) = (self.cluster.clone(), self.sender.clone(), self.state.view);
        // The loop may have ended: then nobody needs the answer.
        self.runtime.spawn(async move { sender.send(Message::List(view, read(&*cluster, view.path()).await)) });
    }
}

fn message_of(event: Event) -> Option<Message> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => Some(Message::Key(key)),
        Event::Mouse(mouse) => Some(Message::Mouse(mouse)),
        _ => None,
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Reads an answer of the API.
async fn read(cluster: &dyn Cluster, path: &str) -> Result<Value, String> {
    let request = Request::get(path).body(Body::empty()).map_err(|e| e.to_string())?;
    let answer = cluster.send(request).await.map_err(|e| e.to_string())?;
    let status = answer.status();
    let body = to_bytes(answer.into_body(), MAX_ANSWER).await.map_err(|e| e.to_string())?;
    if !status.is_success() {
        return Err(format!("the cluster answered {status}: {}", String::from_utf8_lossy(&body)));
    }
    serde_json::from_slice(&body).map_err(|e| format!("the answer to {path} is not understood: {e}"))
}

/// Notes that something changed whenever the event stream has an event. Without it, views are read at intervals.
async fn follow(cluster: Arc<dyn Cluster>, changed: Arc<AtomicBool>) {
    loop {
        if let Ok(request) = Request::get("/v1/event/stream?namespace=*").body(Body::empty())
            && let Ok(answer) = cluster.send(request).await
            && answer.status().is_success()
        {
            let mut pieces = answer.into_body().into_data_stream();
            while let Some(Ok(piece)) = pieces.next().await {
                // An empty object is the sign that the connection lives.
                if piece.trim_ascii() != b"{}" {
                    changed.store(true, Ordering::Release);
                }
            }
        }
        tokio::time::sleep(REOPEN).await;
    }
}

/// The terminal while it shows the views. It is restored when this is dropped, and when the program panics.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn open() -> io::Result<Screen> {
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |information| {
                restore();
                before(information);
            }));
        });
        let opened = take().and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        let mut screen = Screen { terminal: opened.inspect_err(|_| restore())? };
        screen.terminal.clear()?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Takes the terminal: keys come as they are pressed, and the screen is another one than that of the shell.
fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableMouseCapture)
}

/// Gives the terminal back as it was. A terminal that is gone needs nothing.
fn restore() {
    let _ = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, crossterm::cursor::Show);
    let _ = disable_raw_mode();
}
