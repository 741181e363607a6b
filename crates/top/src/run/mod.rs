//! The loop: keys, requests, events and signals change the state; the terminal shows it, and is restored at the end.
//!
//! `inbox`: messages that wake the loop. `commands`, `plans`, `requests`: what is read and executed. `stream`, `follow`:
//! events and logs as they come. `away`: a command that has the terminal. `signals`, `screen`: the process and its terminal.

mod away;
mod commands;
mod follow;
mod inbox;
mod plans;
mod requests;
mod screen;
mod signals;
mod stream;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use encamp_ui::{Cluster, Source};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use crate::draw;
use crate::input::Decoder;
use crate::messages::{Answer, Effect, Exec, Message, Read};
use crate::state::State;
use crate::view::View;
use away::Away;
use inbox::{Inbox, Sender};
use screen::Screen;

/// Relative times change each second.
const TICK: Duration = Duration::from_secs(1);
/// The shortest time between two drawings that no key asked for.
const FRAME: Duration = Duration::from_millis(50);
/// How long a single Escape waits for the rest of a sequence.
const ESCAPE: Duration = Duration::from_millis(40);
/// The shortest time between two reads of a view: many events lead to one read.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// How many times as long as a read took the next one waits, so that large clusters are not read all the time.
const SHARE: u32 = 5;
/// The time between two reads of a view without events.
const REFRESH: Duration = Duration::from_secs(10);
/// The same of queues, which have no events.
const REFRESH_QUEUES: Duration = Duration::from_secs(3);

/// How a cluster is shown.
pub struct Settings {
    /// Whether there are colours.
    pub colours: bool,
    /// A private directory for plan files.
    pub directory: PathBuf,
    /// The process that runs a command in a task, on the terminal of this one; `None`: the cluster has no tasks.
    pub exec: Option<ExecProcess>,
}

/// Makes the process that runs a command in a task.
pub type ExecProcess = Box<dyn Fn(&Exec) -> Command>;

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("colours", &self.colours).finish_non_exhaustive()
    }
}

/// Shows a cluster until a person or a signal ends it.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(cluster: Arc<dyn Cluster>, runtime: &Runtime, settings: Settings) -> io::Result<()> {
    let (name, live, taken) = match cluster.source() {
        Source::Agent { region, .. } => (region.clone(), true, 0),
        Source::Address(address) => (short_address(address), true, 0),
        Source::File { name, taken } => (name.clone(), false, *taken),
    };
    let (sender, inbox) = inbox::channel()?;
    let signals = runtime.block_on(async { signals::watch(&sender) })?;
    let changed = Arc::new(AtomicBool::new(false));
    if live {
        runtime.spawn(stream::follow(cluster.clone(), sender.clone(), changed.clone()));
    }
    let mut screen = Screen::open()?;
    let state = State::new(name, live);
    // Times in a file are relative to the moment at which it was written.
    let at = (taken > 0).then_some(taken);
    let mut top = Loop {
        cluster,
        runtime,
        settings,
        sender,
        inbox,
        changed,
        signals,
        state,
        at,
        reading: None,
        took: DEBOUNCE,
        followed: None,
        away: None,
    };
    let ended = top.go(&mut screen);
    if let Some(away) = &top.away {
        away.end();
    }
    ended
}

/// An address without its scheme, which the title has no space for.
fn short_address(address: &str) -> String {
    address.trim_start_matches("http://").trim_start_matches("https://").to_string()
}

struct Loop<'a> {
    cluster: Arc<dyn Cluster>,
    runtime: &'a Runtime,
    settings: Settings,
    sender: Sender,
    inbox: Inbox,
    /// Whether the cluster has changed since the last read.
    changed: Arc<AtomicBool>,
    signals: Arc<signals::Pending>,
    state: State,
    /// The moment of a file.
    at: Option<i64>,
    /// When the last read of a view began, and whether its answer is still to come.
    reading: Option<(Instant, bool)>,
    /// How long the last read took.
    took: Duration,
    /// The log that is followed.
    followed: Option<AbortHandle>,
    /// What has the terminal instead.
    away: Option<Away>,
}

impl Loop<'_> {
    fn go(&mut self, screen: &mut Screen) -> io::Result<()> {
        let mut decoder = Decoder::default();
        self.tell_size(screen)?;
        let mut effects: Vec<Effect> = self.state.read().map(Effect::Read).into_iter().collect();
        effects.push(Effect::Read(Read::Namespaces));
        // The next drawing: at once after a key, a little later after other changes.
        let (mut drawn, mut due) = (Instant::now(), Duration::ZERO);
        loop {
            for effect in std::mem::take(&mut effects) {
                if effect == Effect::Quit {
                    return Ok(());
                }
                self.execute(effect, screen)?;
            }
            if drawn.elapsed() >= due {
                (drawn, due) = (Instant::now(), TICK);
                self.state.update(Message::Time(self.at.unwrap_or_else(now)));
                if self.away.is_none() {
                    screen.draw(|frame| draw::draw(&self.state, self.settings.colours, frame))?;
                }
            }
            let begun = decoder.has_begun();
            let until_drawing = due.saturating_sub(drawn.elapsed());
            let wait = if begun { until_drawing.min(ESCAPE) } else { until_drawing };
            let (readable, ended) = self.wait(wait)?;
            if ended {
                return Ok(());
            }
            let inputs = match (readable, begun) {
                (true, _) => match screen::read()? {
                    Some(_) if self.away.is_some() => {
                        self.come_back(screen)?;
                        due = Duration::ZERO;
                        Vec::new()
                    }
                    Some(bytes) => decoder.add(&bytes),
                    None => return Ok(()),
                },
                (false, true) => decoder.flush().into_iter().collect(),
                (false, false) => Vec::new(),
            };
            if !inputs.is_empty() {
                due = Duration::ZERO;
            }
            for input in inputs {
                effects.extend(self.state.update(Message::Input(input)));
            }
            while let Some(message) = self.inbox.next() {
                due = due.min(FRAME);
                self.note_answer(&message);
                if let Message::Executed(result) = &message {
                    self.executed(result, screen)?;
                }
                effects.extend(self.state.update(message));
            }
            if self.signals.take_resized() {
                self.tell_size(screen)?;
                due = Duration::ZERO;
            }
            if self.signals.take_stopped() {
                effects.push(Effect::Suspend);
            }
            if self.signals.take_continued() {
                effects.push(Effect::Redraw);
                due = Duration::ZERO;
            }
            if effects.iter().any(|e| matches!(e, Effect::Suspend | Effect::Redraw)) {
                due = Duration::ZERO;
            }
            if self.is_due() {
                effects.extend(self.state.read().map(Effect::Read));
            }
        }
    }

    fn tell_size(&mut self, screen: &Screen) -> io::Result<()> {
        let size = screen.size()?;
        self.state.update(Message::Size(size.width, size.height));
        Ok(())
    }

    /// Waits for keys and messages: whether there are keys, and whether the terminal is gone. Keys for a command that has
    /// the terminal are not ours.
    fn wait(&self, bound: Duration) -> io::Result<(bool, bool)> {
        let stdin = rustix::stdio::stdin();
        let ours = !self.away.as_ref().is_some_and(Away::runs);
        let keys = if ours { PollFlags::IN } else { PollFlags::empty() };
        let mut fds = [PollFd::new(&stdin, keys), PollFd::new(self.inbox.fd(), PollFlags::IN)];
        let bound = Timespec::try_from(bound).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        match poll(&mut fds, Some(&bound)) {
            Ok(_) => {}
            // A signal came: its task has sent a message.
            Err(Errno::INTR) => return Ok((false, false)),
            Err(e) => return Err(e.into()),
        }
        let keys = fds.first().map_or(PollFlags::empty(), PollFd::revents);
        let gone = keys.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        Ok((keys.contains(PollFlags::IN), gone))
    }

    /// Notes when a read of a view has ended.
    fn note_answer(&mut self, message: &Message) {
        if let Message::Answer(answer) = message
            && matches!(**answer, Answer::View { .. })
            && let Some((begun, _)) = self.reading
        {
            self.took = begun.elapsed();
            self.reading = Some((begun, false));
        }
    }

    /// Whether the view is to be read again: something changed, or it is old.
    fn is_due(&self) -> bool {
        let Some((begun, false)) = self.reading else { return false };
        let (age, least) = (begun.elapsed(), DEBOUNCE.max(self.took.saturating_mul(SHARE)));
        let most = if self.state.view == View::Queues { REFRESH_QUEUES } else { REFRESH };
        self.state.live && age >= least && (age >= most || self.changed.load(Ordering::Acquire))
    }

    fn execute(&mut self, effect: Effect, screen: &mut Screen) -> io::Result<()> {
        match effect {
            Effect::Quit => {}
            Effect::Read(read) => {
                if matches!(read, Read::View { .. }) {
                    self.changed.store(false, Ordering::Release);
                    self.reading = Some((Instant::now(), true));
                }
                let (cluster, sender, live) = (self.cluster.clone(), self.sender.clone(), self.state.live);
                let directory = self.settings.directory.clone();
                self.runtime.spawn(async move {
                    let answer = requests::answer(&*cluster, read, live, &directory).await;
                    sender.send(Message::Answer(Box::new(answer)));
                });
            }
            Effect::Act(act) => {
                let (cluster, sender) = (self.cluster.clone(), self.sender.clone());
                self.runtime.spawn(async move {
                    let result = commands::command(&*cluster, act.command(), Vec::new()).await.map(drop);
                    sender.send(Message::Answer(Box::new(Answer::Acted(act, result))));
                });
            }
            Effect::Follow { id, path } => {
                self.stop_following();
                let (cluster, sender) = (self.cluster.clone(), self.sender.clone());
                let task = self.runtime.spawn(async move { follow::follow(&*cluster, &sender, id, &path).await });
                self.followed = Some(task.abort_handle());
            }
            Effect::StopFollowing => self.stop_following(),
            Effect::Exec(exec) => self.leave_to(&exec),
            // Another program has the terminal.
            Effect::Suspend | Effect::Redraw if self.away.is_some() => {}
            Effect::Suspend => {
                screen::restore();
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
                screen.reopen()?;
                self.tell_size(screen)?;
            }
            Effect::Redraw => {
                screen.reopen()?;
                self.tell_size(screen)?;
            }
        }
        Ok(())
    }
}

impl Loop<'_> {
    fn stop_following(&mut self) {
        if let Some(task) = self.followed.take() {
            task.abort();
        }
    }

    /// Gives the terminal to a command in a task.
    fn leave_to(&mut self, exec: &Exec) {
        let Some(process) = self.settings.exec.as_ref().map(|make| make(exec)) else { return };
        screen::restore();
        self.signals.set_away(true);
        match Away::start(process, self.sender.clone()) {
            Ok(away) => self.away = Some(away),
            Err(e) => {
                self.sender.send(Message::Executed(Err(e.to_string())));
            }
        }
    }

    /// The command has ended. What it said about a failure stays visible until a key.
    fn executed(&mut self, result: &Result<i32, String>, screen: &mut Screen) -> io::Result<()> {
        match (result, &mut self.away) {
            (Ok(code), Some(away)) if *code != 0 => {
                away.ended();
                self.signals.set_away(false);
                screen::say(&format!("\nThe command ended with exit code {code}. Press Enter to return to encamp top."))
            }
            _ => self.come_back(screen),
        }
    }

    fn come_back(&mut self, screen: &mut Screen) -> io::Result<()> {
        self.away = None;
        self.signals.set_away(false);
        screen.reopen()?;
        self.tell_size(screen)
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
