//! The simulation of a thread: its clock, random source, disks, trace, and the first violation.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;
use std::time::Duration;

use encamp_host::simulation::{self, Simulation};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::clocks::Clocks;
use super::disk::Disk;
use super::guest;
use super::watch::Watch;
use encamp_model::SECOND;
use encamp_model::random::Random;

/// The start of the simulated time, in Unix nanoseconds.
const START: i64 = 1_700_000_000 * SECOND;
/// The number of trace lines that are retained for output.
const SHOWN: usize = 60;

/// A deliberate bug, to verify that the checks find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Disks report data as durable one write too early.
    AckBeforeFsync,
    /// Syncs of files do nothing.
    SkippedFsync,
    /// Syncs of directories do nothing: names of new files are lost.
    SkippedDirectorySync,
    /// A server that crashes forgets its last vote, and its copy.
    ForgottenVote,
    /// Checksums of log entries are not compared: a crash changes a byte of one, and its checksums fit.
    IgnoredChecksum,
    /// The broker delivers an evaluation that is already outstanding.
    DoubleDequeue,
    /// The reaper does not cancel some evaluations.
    LostCancel,
    /// Some entries of the log are applied twice.
    AppliedTwice,
    /// A server passes over some entries of the log.
    SkippedEntry,
    /// Followers answer reads that ask for the leader.
    StaleRead,
    /// A server counts on a lease that is longer than that of the others.
    LongLease,
    /// A leader whose machine was stopped answers without asking the others whether it still leads.
    UnconfirmedLease,
    /// Writes with check-and-set do not check.
    UncheckedIndex,
    /// Locks of variables expire after a part of their time.
    ShortLock,
    /// Timers follow the clock that can be set.
    TimersOfWallClock,
    /// The plan applier accepts what does not fit.
    UncheckedPlan,
    /// Some events are not published.
    LostEvent,
    /// Some events are published twice.
    DoubledEvent,
    /// Writes of jobs do not wake those who wait for them.
    ForgottenWake,
}

/// A simulation: everything that depends on the seed, and the results.
pub(crate) struct Sim {
    epoch: OnceLock<Instant>,
    /// How far the clock was moved, in nanoseconds.
    moved: AtomicI64,
    ids: Mutex<Random>,
    disks: Mutex<BTreeMap<String, Arc<Disk>>>,
    trace: Mutex<Trace>,
    broken: Mutex<Option<String>>,
    guests: AtomicUsize,
    /// The clocks of the machines.
    pub clocks: Clocks,
    /// The continuous checks.
    pub watch: Watch,
    /// The deliberate bug, if any.
    pub bug: Option<Bug>,
}

struct Trace {
    aloud: bool,
    digest: u64,
    last: VecDeque<String>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Sim>>> = const { RefCell::new(None) };
}

/// Whether this thread belongs to a simulation.
pub(crate) fn running() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Whether this thread's simulation has a deliberate bug.
pub(crate) fn has(bug: Bug) -> bool {
    CURRENT.with_borrow(|c| c.as_ref().is_some_and(|s| s.bug == Some(bug)))
}

/// The message of a panic.
pub(crate) fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
}

impl Sim {
    /// Creates a simulation from a seed; `aloud` prints the trace.
    pub(crate) fn new(seed: u64, bug: Option<Bug>, aloud: bool) -> Arc<Sim> {
        let trace = Trace { aloud, digest: 0xcbf2_9ce4_8422_2325, last: VecDeque::new() };
        Arc::new(Sim {
            epoch: OnceLock::new(),
            moved: AtomicI64::new(0),
            ids: Mutex::new(Random::new(seed, "ids")),
            disks: Mutex::default(),
            trace: Mutex::new(trace),
            broken: Mutex::default(),
            guests: AtomicUsize::new(0),
            clocks: Clocks::default(),
            watch: Watch::default(),
            bug,
        })
    }

    /// The simulation of this thread.
    pub(crate) fn current() -> Arc<Sim> {
        CURRENT.with_borrow(Clone::clone).expect("a thread of a simulation")
    }

    /// Makes this thread part of the simulation until the guard is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> Inside {
        CURRENT.set(Some(self.clone()));
        Inside { _host: simulation::enter(self.clone()) }
    }

    /// Starts the clock.
    pub(crate) fn begin(&self) {
        self.epoch.get_or_init(Instant::now);
    }

    /// The true simulated time in Unix nanoseconds.
    pub(crate) fn now(&self) -> i64 {
        let passed = self.elapsed().as_nanos();
        let moved = self.moved.load(Ordering::Relaxed);
        START.saturating_add(moved).saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }

    /// Sets the clock, in Unix nanoseconds, as an operator or a time server does: timers do not notice.
    pub(crate) fn move_clock(&self, to: i64) {
        self.moved.fetch_add(to.saturating_sub(self.now()), Ordering::Relaxed);
    }

    /// Adds a disk.
    pub(crate) fn mount(&self, name: &str, disk: Arc<Disk>) {
        self.disks.lock().insert(name.into(), disk);
    }

    /// Adds a line to the trace, which is part of the digest.
    pub(crate) fn note(&self, what: fmt::Arguments<'_>) {
        let ms = (self.now() - START) / 1_000_000;
        let line = format!("{ms:>7} {what}");
        let mut trace = self.trace.lock();
        trace.digest = line.bytes().fold(trace.digest, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        if trace.aloud {
            println!("{line}");
        }
        if trace.last.len() == SHOWN {
            trace.last.pop_front();
        }
        trace.last.push_back(line);
    }

    /// Prints details when a single seed is run.
    pub(crate) fn tell(&self, what: fmt::Arguments<'_>) {
        if self.trace.lock().aloud {
            println!("        {what}");
        }
    }

    /// Reports a violation; the first one is retained.
    pub(crate) fn broken(&self, what: &str) {
        self.note(format_args!("BROKEN: {what}"));
        self.broken.lock().get_or_insert_with(|| what.to_string());
    }

    /// The first violation.
    pub(crate) fn verdict(&self) -> Option<String> {
        self.broken.lock().clone()
    }

    /// A digest of the trace.
    pub(crate) fn digest(&self) -> u64 {
        self.trace.lock().digest
    }

    /// The simulated time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.epoch.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// The last lines of the trace.
    pub(crate) fn last_lines(&self) -> String {
        self.trace.lock().last.iter().map(|l| format!("  {l}\n")).collect()
    }

    pub(super) fn guest_began(&self) {
        self.guests.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn guest_ended(&self) {
        self.guests.fetch_sub(1, Ordering::AcqRel);
    }

    /// The number of running guests.
    pub(crate) fn guests(&self) -> usize {
        self.guests.load(Ordering::Acquire)
    }
}

/// The server's interface to its simulated machine.
impl Simulation for Sim {
    fn now(&self) -> i64 {
        self.clocks.wall(simulation::machine(), self.now())
    }

    fn steady(&self) -> i64 {
        if self.bug == Some(Bug::TimersOfWallClock) {
            return Simulation::now(self);
        }
        let passed = i64::try_from(self.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.clocks.steady(simulation::machine(), START.saturating_add(passed))
    }

    fn runs(&self, machine: usize, waker: &Waker) -> bool {
        self.clocks.runs(machine, waker)
    }

    fn fill(&self, bytes: &mut [u8]) {
        let mut ids = self.ids.lock();
        bytes.chunks_mut(8).for_each(|part| part.copy_from_slice(&ids.number().to_le_bytes()[..part.len()]));
    }

    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        guest::spawn(work);
    }

    fn wait_for(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        guest::block_on(future);
    }

    /// Simulated disks are at `/simulated/<disk>`.
    fn disk_of(&self, path: &Path) -> Option<Arc<dyn simulation::Disk>> {
        let mut parts = path.strip_prefix("/simulated").ok()?.components();
        let name = parts.next()?.as_os_str().to_str()?;
        self.disks.lock().get(name).map(|disk| disk.clone() as _)
    }
}

/// Makes this thread part of a simulation until it is dropped.
pub(crate) struct Inside {
    _host: simulation::Inside,
}

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}
