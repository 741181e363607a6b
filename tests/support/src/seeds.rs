//! Tests of generated cases: runs cases by their seeds, on several threads, until there are enough of them or too many
//! violate a rule.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What a rule found wrong, or nothing.
pub type Verdict = Result<(), String>;

/// A number of the environment.
///
/// # Panics
///
/// If the variable is set to something else than a number.
pub fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// A test of cases. Variables of the environment say which ones: `<prefix>_SEED` runs one case alone, `<prefix>_START` is
/// the first seed (1), `<prefix>_THREADS` the number of threads (2), and `<prefix>_FAILURES` the number of failures after
/// which the run ends (1).
pub struct Suite {
    /// What the names of its variables begin with.
    pub prefix: &'static str,
    /// The arguments of `cargo test` that run it.
    pub test: &'static str,
}

/// The outcome of the cases.
pub struct Run<T> {
    /// What occurred in all of them.
    pub total: T,
    failures: Vec<(u64, String)>,
    seeds: (u64, u64),
    seconds: u64,
}

impl Suite {
    fn setting(&self, name: &str) -> Option<u64> {
        setting(&format!("{}_{name}", self.prefix))
    }

    /// The case to run alone, for analysis.
    pub fn alone(&self) -> Option<u64> {
        self.setting("SEED")
    }

    /// The first seed.
    pub fn first(&self) -> u64 {
        self.setting("START").unwrap_or(1)
    }

    /// Runs cases until `enough` of the next seed and of the seconds so far. A panic is a failure like any other.
    ///
    /// # Panics
    ///
    /// If a variable is set to something else than a number.
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
                    // A run may take hours after its first failure.
                    eprintln!("seed {seed}: {e}\nto reproduce:\n  {}", self.again(seed));
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

    /// Prints the counts, and how to run failed cases again.
    ///
    /// # Panics
    ///
    /// If a case broke a rule.
    pub fn judge<T>(&self, run: &Run<T>, counts: &str) {
        let (first, last) = run.seeds;
        println!("{counts}; {} failures; seeds {first}..={last}; {} s", run.failures.len(), run.seconds);
        for (seed, e) in &run.failures {
            println!("{}   # {e}", self.again(*seed));
        }
        assert!(run.failures.is_empty(), "{} cases break a rule", run.failures.len());
    }

    /// The command that runs a case again.
    fn again(&self, seed: u64) -> String {
        format!("{}_SEED={seed} cargo test {}", self.prefix, self.test)
    }
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string()));
    format!("panic: {}", text.unwrap_or_default())
}
