//! The server's own threads and how they wait: workers, the plan applier, the writer of the log, blocking work.
//!
//! Everything that runs outside of the asynchronous runtime starts and waits through this module. On threads of a
//! [simulation](mod@crate::simulation) the simulation schedules them; otherwise they are ordinary threads.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use parking_lot::{Condvar, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, UnboundedReceiver};
use tokio::sync::{Notify, oneshot};

use crate::platform::process::be_nice;
use crate::simulation;

/// A moment of the clock that timers of the runtime follow.
pub use tokio::time::Instant;

/// Stack of a thread: schedulers recurse.
pub const STACK: usize = 8 << 20;

/// Starts a detached thread.
///
/// # Errors
/// The system has no room for it.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    if let Some(simulation) = simulation::current() {
        simulation.spawn(Box::new(work));
        return Ok(());
    }
    std::thread::Builder::new().name(name.into()).stack_size(STACK).spawn(work).map(drop)
}

/// Waits for a future, on a thread outside of the runtime.
pub fn block_on<F: Future>(runtime: &Handle, future: F) -> F::Output {
    // The runtime's loop is compiled for each type of future.
    let future: Pin<Box<dyn Future<Output = F::Output> + '_>> = Box::pin(future);
    if let Some(simulation) = simulation::current() {
        return simulation::wait(&*simulation, future);
    }
    runtime.block_on(future)
}

/// Sleeps, on a thread outside of the runtime.
pub fn sleep(duration: Duration) {
    if let Some(simulation) = simulation::current() {
        return simulation::wait(&*simulation, tokio::time::sleep(duration));
    }
    std::thread::sleep(duration);
}

/// Waits for a message, on a thread outside of the runtime; `None` once nobody can send any more.
pub fn receive<T>(from: &mut UnboundedReceiver<T>) -> Option<T> {
    if let Some(simulation) = simulation::current() {
        return simulation::wait(&*simulation, from.recv());
    }
    from.blocking_recv()
}

/// Why there is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMessage {
    /// None came in time.
    Late,
    /// All senders are closed.
    Never,
}

/// Waits for a message for a time, on a thread outside of the runtime. The runtime has no part in it: it may be gone
/// before the thread.
///
/// # Errors
/// There is none.
pub fn receive_within<T>(from: &mut Receiver<T>, most: Duration) -> Result<T, NoMessage> {
    if let Some(simulation) = simulation::current() {
        let received = simulation::wait(&*simulation, async { tokio::time::timeout(most, from.recv()).await });
        return received.map_err(|_| NoMessage::Late)?.ok_or(NoMessage::Never);
    }
    let deadline = Instant::now() + most;
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(received) = from.poll_recv(&mut Context::from_waker(&waker)) {
            return received.ok_or(NoMessage::Never);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(NoMessage::Late);
        }
        std::thread::park_timeout(left);
    }
}

/// Wakes a thread that is parked.
struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Work that did not come to its end: it panicked, or the runtime stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfinished(String);

/// Runs what may block on a thread that may.
///
/// # Errors
/// It panicked, or the runtime stopped.
pub async fn unblock<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unfinished> {
    if let Some(simulation) = simulation::current() {
        let (done, finished) = oneshot::channel();
        simulation.spawn(Box::new(move || drop(done.send(work()))));
        return finished.await.map_err(|_| Unfinished("the task panicked".into()));
    }
    tokio::task::spawn_blocking(work).await.map_err(|e| Unfinished(e.to_string()))
}

/// How much less than others a thread in the background gets of a busy processor (a nice value).
const BACKGROUND: i32 = 10;

/// Runs long work on a thread of its own that leaves busy processors to others.
///
/// # Errors
/// It panicked, or there is no room for the thread.
pub async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Unfinished> {
    let (done, finished) = oneshot::channel();
    spawn("background", move || {
        // Where that can't be done the work is still done.
        be_nice(BACKGROUND);
        let _ = done.send(work());
    })
    .map_err(|e| Unfinished(e.to_string()))?;
    finished.await.map_err(|_| Unfinished("the task panicked".into()))
}

/// Wakes threads that wait with a lock.
#[derive(Debug, Default)]
pub struct Signal {
    threads: Condvar,
    /// Those of a simulation.
    simulated: Notify,
}

impl Signal {
    /// Releases the lock, waits for a wake-up, for at most this time, and takes the lock again. May return early.
    pub fn wait<T>(&self, held: &mut MutexGuard<'_, T>, most: Duration) {
        if let Some(simulation) = simulation::current() {
            let mut woken = std::pin::pin!(self.simulated.notified());
            // Registered before the lock is free, so that no wake-up is missed.
            woken.as_mut().enable();
            MutexGuard::unlocked(held, || {
                let _ = simulation::wait(&*simulation, tokio::time::timeout(most, woken));
            });
            return;
        }
        self.threads.wait_for(held, most);
    }

    /// Wakes one who waits.
    pub fn notify_one(&self) {
        self.threads.notify_one();
        self.simulated.notify_waiters();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        self.threads.notify_all();
        self.simulated.notify_waiters();
    }
}
