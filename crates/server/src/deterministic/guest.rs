//! Guests: code that blocks like a thread, run in turns with the single thread of a simulation.
//!
//! A guest has its own thread, but either the guest or the simulation runs. When the guest waits for a future, it polls
//! the future and returns control while it is pending; the future wakes the task that represents the guest in the
//! runtime.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::sim::{self, Sim};
use encamp_host::simulation;
use encamp_host::threads::STACK;

/// The panic payload that unwinds an abandoned guest.
struct Abandoned;

/// Which side runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Host,
    Guest,
    Over,
    /// The simulation ended before the guest did.
    Abandoned,
}

struct Baton {
    turn: Mutex<(Turn, Waker)>,
    moved: Condvar,
}

impl Baton {
    fn lock(&self) -> MutexGuard<'_, (Turn, Waker)> {
        self.turn.lock()
    }

    fn pass(&self, to: Turn) {
        self.lock().0 = to;
        self.moved.notify_all();
    }

    /// Waits for the guest's turn. Returns the waker of its task. An abandoned guest unwinds.
    fn guests_turn(&self) -> Waker {
        let mut held = self.lock();
        self.moved.wait_while(&mut held, |t| t.0 == Turn::Host);
        let (turn, waker) = held.clone();
        drop(held);
        if turn == Turn::Abandoned {
            std::panic::resume_unwind(Box::new(Abandoned));
        }
        waker
    }

    /// Lets the guest run until it waits. Returns true if it has ended.
    fn run_guest(&self, waker: &Waker) -> bool {
        let mut held = self.lock();
        *held = (Turn::Guest, waker.clone());
        self.moved.notify_all();
        self.moved.wait_while(&mut held, |t| t.0 == Turn::Guest);
        held.0 == Turn::Over
    }
}

thread_local! {
    /// The baton of this thread, if it is a guest.
    static BATON: std::cell::RefCell<Option<Arc<Baton>>> = const { std::cell::RefCell::new(None) };
}

/// Whether this thread is a guest, which may block.
pub(crate) fn may_wait() -> bool {
    BATON.with_borrow(Option::is_some)
}

/// Starts a guest. Its first turn comes when the runtime polls its task.
pub(crate) fn spawn(work: impl FnOnce() + Send + 'static) {
    let baton = Arc::new(Baton { turn: Mutex::new((Turn::Host, Waker::noop().clone())), moved: Condvar::new() });
    let (own, sim, runtime) = (baton.clone(), Sim::current(), tokio::runtime::Handle::current());
    let machine = simulation::machine();
    sim.guest_began();
    let body = move || {
        let _inside = sim.enter();
        let _runtime = runtime.enter();
        BATON.set(Some(own.clone()));
        simulation::be_on(machine);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            own.guests_turn();
            work();
        }));
        if let Err(panic) = outcome.as_ref()
            && !panic.is::<Abandoned>()
        {
            sim.broken(&format!("a thread panicked: {}", sim::text_of(&**panic)));
        }
        sim.guest_ended();
        own.pass(Turn::Over);
    };
    std::thread::Builder::new().name("guest".into()).stack_size(STACK).spawn(body).expect("a thread");
    let host = Host(baton);
    tokio::spawn(simulation::here(poll_fn(
        move |cx| if host.0.run_guest(cx.waker()) { Poll::Ready(()) } else { Poll::Pending },
    )));
}

/// The task that represents a guest.
struct Host(Arc<Baton>);

impl Drop for Host {
    fn drop(&mut self) {
        let mut turn = self.0.lock();
        if turn.0 != Turn::Over {
            turn.0 = Turn::Abandoned;
            self.0.moved.notify_all();
        }
    }
}

/// Waits for a future in a guest.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let baton = BATON.with_borrow(Clone::clone).expect("only guests wait");
    let mut future = pin!(future);
    let mut waker = baton.lock().1.clone();
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        baton.pass(Turn::Host);
        waker = baton.guests_turn();
    }
}
