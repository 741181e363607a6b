//! Long work on a stream of items in several threads, with the results in the order of the items.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use parking_lot::Mutex;

use crate::simulation;

/// More threads than that are not started.
const MOST_THREADS: usize = 16;
/// How many items per thread may have been read, but their results not yet been taken: bounds the memory.
const AHEAD: usize = 3;

/// The result of work on an item, by the item's number; or what it panicked with.
type Done<R> = (usize, Result<R, Box<dyn Any + Send>>);

/// Calls `work` for each item in as many threads as there are processors, and `take` for each result in the order of
/// the items, on this thread. Threads are started by this one and have its priority. In a simulation, and where no
/// thread can be started, this thread does all of it.
///
/// # Errors
/// The first error of `items` or `take`; what comes after it is not taken.
pub fn in_order<T: Send, R: Send, E>(
    mut items: impl Iterator<Item = Result<T, E>>,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let count = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    if count == 1 || simulation::current().is_some() {
        return items.try_for_each(|item| take(work(item?)));
    }
    let (tasks, waiting) = channel::<(usize, T)>();
    let (waiting, work) = (Mutex::new(waiting), &work);
    let (waiting, (done, results)) = (&waiting, channel());
    thread::scope(|scope| {
        let start = || {
            let done = done.clone();
            let thread = thread::Builder::new().name("part".into());
            thread.spawn_scoped(scope, move || serve(waiting, work, &done)).is_ok()
        };
        let started = (0..count).filter(|_| start()).count();
        drop(done);
        if started == 0 {
            return items.try_for_each(|item| take(work(item?)));
        }
        // Moved in, so that the threads end when this does.
        feed(&mut items, tasks, results, started * AHEAD, &mut take)
    })
}

/// Works on items until there are no more.
fn serve<T, R>(waiting: &Mutex<Receiver<(usize, T)>>, work: &impl Fn(T) -> R, done: &Sender<Done<R>>) {
    loop {
        let Ok((number, item)) = waiting.lock().recv() else { return };
        let result = catch_unwind(AssertUnwindSafe(|| work(item)));
        if done.send((number, result)).is_err() {
            return;
        }
    }
}

/// Sends the items to the threads, at most `ahead` more than results were taken, and takes the results in order.
fn feed<T, R, E>(
    items: &mut impl Iterator<Item = Result<T, E>>,
    tasks: Sender<(usize, T)>,
    results: Receiver<Done<R>>,
    ahead: usize,
    take: &mut impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let (mut sent, mut taken, mut more) = (0, 0, true);
    let mut early = BTreeMap::new();
    loop {
        while more && sent - taken < ahead {
            match items.next() {
                Some(item) => {
                    // The receiver lives as long as this thread is in the scope.
                    let _ = tasks.send((sent, item?));
                    sent += 1;
                }
                None => more = false,
            }
        }
        if taken == sent {
            return Ok(());
        }
        // Threads end only after all senders of tasks.
        let Ok((number, result)) = results.recv() else { return Ok(()) };
        early.insert(number, result);
        while let Some(result) = early.remove(&taken) {
            taken += 1;
            take(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, 2, 7, 100, 1000] {
            let mut taken = Vec::new();
            // The later an item of a group of eight comes, the shorter the work on it.
            let work = |n: usize| (0..(8 - n % 8) * 500).fold(n, |n, _| std::hint::black_box(n)) * 2;
            let items = (0..count).map(Ok::<usize, ()>);
            in_order(items, work, |n| {
                taken.push(n);
                Ok(())
            })
            .unwrap();
            assert_eq!(taken, (0..count).map(|n| n * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn errors_end_the_work() {
        let failing = (0..1000).map(|n| if n == 500 { Err(n) } else { Ok(n) });
        let mut taken = 0;
        let outcome = in_order(
            failing,
            |n| n,
            |_| {
                taken += 1;
                Ok(())
            },
        );
        assert_eq!(outcome, Err(500));
        assert!(taken <= 500);
        let outcome = in_order((0..1000).map(Ok), |n| n, |n| if n == 300 { Err(n) } else { Ok(()) });
        assert_eq!(outcome, Err(300));
    }

    #[test]
    fn a_panic_is_passed_on() {
        let panicked = catch_unwind(|| in_order((0..100).map(Ok::<usize, ()>), |n| assert_ne!(n, 50), Ok));
        assert!(panicked.is_err());
    }
}
