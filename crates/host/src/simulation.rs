//! A simulated machine: its clock, its random numbers, its threads and its disks.
//!
//! A simulation belongs to the threads on which it was [`enter`]ed. All other threads use the real machine; checking
//! for a simulation costs one access to a thread-local variable.
//!
//! A simulation has several machines: what runs [`on`] one sees its clock, and stops while it is stopped. Work that is
//! spawned stays on the machine of its spawner if it is wrapped by [`here`].

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A simulated machine.
pub trait Simulation: Send + Sync {
    /// The time that the clock of the current [`machine`] shows, in Unix nanoseconds.
    fn now(&self) -> i64;
    /// The time of a clock that nobody sets, in nanoseconds from any origin.
    fn steady(&self) -> i64;
    /// Whether a machine runs. If not, wakes the waker when it does.
    fn runs(&self, machine: usize, waker: &Waker) -> bool;
    /// Fills with random bytes.
    fn fill(&self, bytes: &mut [u8]);
    /// Starts a thread. It belongs to the simulation.
    fn spawn(&self, work: Box<dyn FnOnce() + Send>);
    /// Polls the future until it is ready, on a thread of the simulation, while others go on.
    fn wait_for(&self, future: Pin<&mut dyn Future<Output = ()>>);
    /// The simulated disk that holds the path, if one does.
    fn disk_of(&self, path: &Path) -> Option<Arc<dyn Disk>>;
}

/// A simulated disk. A directory is stored on the same disk as its files.
pub trait Disk: Send + Sync {
    /// Opens a file.
    ///
    /// # Errors
    /// There is none.
    fn open(self: Arc<Self>, path: &Path) -> io::Result<Box<dyn File>>;
    /// Makes a file, or empties it.
    ///
    /// # Errors
    /// It can't be made.
    fn create(self: Arc<Self>, path: &Path) -> io::Result<Box<dyn File>>;
    /// Removes a name.
    ///
    /// # Errors
    /// It is not there.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Gives a file another name, all at once.
    ///
    /// # Errors
    /// It is not there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Names of the files in a directory.
    fn names(&self, dir: &Path) -> Vec<String>;
    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// The disk failed.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// A file on a simulated disk.
pub trait File: Debug + Send + Sync {
    /// Its length.
    fn length(&self) -> u64;
    /// Cuts it, or fills it with zeros.
    fn set_length(&self, length: u64);
    /// Writes at a place.
    fn write_at(&self, bytes: &[u8], at: u64);
    /// Reads at a place, all that is asked for.
    ///
    /// # Errors
    /// The file is too short.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()>;
    /// Makes it durable: its content, and its length unless `data_alone` says that it is not needed.
    ///
    /// # Errors
    /// The disk failed.
    fn sync(&self, data_alone: bool) -> io::Result<()>;
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Simulation>>> = const { RefCell::new(None) };
    static MACHINE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The machine on which the current code runs; `None` outside of all machines.
pub fn machine() -> Option<usize> {
    MACHINE.get()
}

/// Assigns the current thread to a machine, for code that runs as a thread.
pub fn be_on(machine: Option<usize>) {
    MACHINE.set(machine);
}

/// A future on a machine; see [`on`].
#[derive(Debug)]
pub struct On<F> {
    machine: usize,
    future: Pin<Box<F>>,
}

/// Runs a future on a machine of the simulation.
pub fn on<F: Future>(machine: usize, future: F) -> On<F> {
    On { machine, future: Box::pin(future) }
}

impl<F: Future> Future for On<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if current().is_some_and(|simulation| !simulation.runs(self.machine, context.waker())) {
            return Poll::Pending;
        }
        let before = MACHINE.replace(Some(self.machine));
        let polled = self.future.as_mut().poll(context);
        MACHINE.set(before);
        polled
    }
}

/// The future on the machine of the caller, to be spawned: outside of a simulation the future itself.
pub fn here<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let machine = machine();
    async move {
        match machine {
            Some(machine) => on(machine, future).await,
            None => future.await,
        }
    }
}

/// Makes this thread one of the simulation, until the guard is dropped.
pub fn enter(simulation: Arc<dyn Simulation>) -> Inside {
    CURRENT.set(Some(simulation));
    Inside(())
}

/// This thread belongs to a simulation until this is dropped.
pub struct Inside(());

impl Drop for Inside {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// The simulation that this thread belongs to.
pub(crate) fn current() -> Option<Arc<dyn Simulation>> {
    CURRENT.with_borrow(Clone::clone)
}

/// The simulated disk that holds the path, if one does.
pub(crate) fn disk_of(path: &Path) -> Option<Arc<dyn Disk>> {
    current()?.disk_of(path)
}

/// Waits for a future on a thread of the simulation.
pub(crate) fn wait<F: Future>(simulation: &dyn Simulation, future: F) -> F::Output {
    let mut output = None;
    simulation.wait_for(pin!(async { output = Some(future.await) }));
    output.expect("a simulation waits until the future is ready")
}
