//! Runs cases by their seeds, on several threads, until there are enough of them or too many violate a rule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::Verdict;

/// A number of the environment.
pub fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// A test of cases: begin of its variables (`<prefix>_START`, `_THREADS`, `_FAILURES`, `_SEED`), and its name.
pub struct Suite {
    pub prefix: &'static str,
    pub test: &'static str,
}

/// What the cases gave.
pub struct Run<T> {
    /// What they met, all together.
    pub total: T,
    failures: Vec<(u64, String)>,
    seeds: (u64, u64),
    seconds: u64,
}

impl Suite {
    fn setting(&self, name: &str) -> Option<u64> {
        setting(&format!("{}_{name}", self.prefix))
    }

    /// The case to run alone, to be looked into.
    pub fn alone(&self) -> Option<u64> {
        self.setting("SEED")
    }

    /// The first seed.
    pub fn first(&self) -> u64 {
        self.setting("START").unwrap_or(1)
    }

    /// Runs cases until `enough` of the next seed and of the seconds so far. A panic is a failure like any other.
    pub fn run<T: Default + Send>(
        &self,
        enough: impl Fn(u64, u64) -> bool + Sync,
        case: impl Fn(u64, &mut T) -> Verdict + Sync,
        merge: impl Fn(&mut T, &T) + Sync,
    ) -> Run<T> {
        let most_failures = self.setting("FAILURES").unwrap_or(1) as usize;
        let (next, last, stop) = (AtomicU64::new(self.first()), AtomicU64::new(0), AtomicBool::new(false));
        let (total, failures) = (Mutex::new(T::default()), Mutex::new(Vec::new()));
        let begin = Instant::now();
        let work = || {
            let mut met = T::default();
            while !stop.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if enough(seed, begin.elapsed().as_secs()) {
                    break;
                }
                last.fetch_max(seed, Ordering::Relaxed);
                let done = catch_unwind(AssertUnwindSafe(|| case(seed, &mut met)));
                if let Err(e) = done.unwrap_or_else(|p| Err(panicked(&*p))) {
                    let mut failures = failures.lock().expect("no panic while held");
                    failures.push((seed, e));
                    stop.fetch_or(failures.len() >= most_failures, Ordering::Relaxed);
                }
            }
            merge(&mut total.lock().expect("no panic while held"), &met);
        };
        std::thread::scope(|s| {
            for _ in 0..self.setting("THREADS").unwrap_or(2) {
                s.spawn(work);
            }
        });
        let mut failures = failures.into_inner().expect("no panic while held");
        failures.sort();
        let total = total.into_inner().expect("no panic while held");
        Run { total, failures, seeds: (self.first(), last.into_inner()), seconds: begin.elapsed().as_secs() }
    }

    /// Tells how it went, and that no case broke a rule.
    pub fn judge<T>(&self, run: &Run<T>, counts: &str) {
        let (Suite { prefix, test }, (first, last)) = (self, run.seeds);
        println!("{counts}; {} failures; seeds {first}..={last}; {} s", run.failures.len(), run.seconds);
        for (seed, e) in &run.failures {
            println!("{prefix}_SEED={seed} cargo test --test {test}   # {e}");
        }
        assert!(run.failures.is_empty(), "{} cases break a rule", run.failures.len());
    }
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string()));
    format!("panic: {}", text.unwrap_or_default())
}
