//! Every recorded evaluation, allocation by allocation (`tests/oracle/scheduler/README.md`).
//!
//! `ENCAMP_ORACLE_CASE=text` runs only the cases whose name contains the text (equals it, written `=text`; whose
//! evaluation has that type, written `type:text`) and prints the first differences of each that fails;
//! `ENCAMP_ORACLE_DIFFS=n` how many (1).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::oracle;
use crate::scheduler_cases::compare::Difference;
use crate::scheduler_cases::{Case, check, families, frequencies, parse_case};
use encamp_model::JobType;

/// Cases that must be equal: all there are.
const FLOOR: usize = 2409;

/// What one case came to: its name, and its differences.
type Verdict = (String, Vec<Difference>);

fn run_case(text: &str, wanted: &dyn Fn(&Case) -> bool) -> Option<Verdict> {
    let case = match parse_case(text) {
        Ok(c) => c,
        Err(e) => return Some(("unreadable case".into(), vec![Difference::failure(&e)])),
    };
    if !wanted(&case) {
        return None;
    }
    let found = catch_unwind(AssertUnwindSafe(|| check(&case))).unwrap_or_else(|p| {
        let text = p.downcast_ref::<String>().cloned().or_else(|| p.downcast_ref::<&str>().map(|s| s.to_string()));
        vec![Difference::failure(&format!("panic: {}", text.unwrap_or_default()))]
    });
    Some((case.name, found))
}

/// Runs the cases on two threads.
fn run_all(cases: &[String], wanted: &(dyn Fn(&Case) -> bool + Sync)) -> Vec<Verdict> {
    let next = AtomicUsize::new(0);
    let out = Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while let Some(text) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let verdict = run_case(text, wanted);
                    out.lock().expect("no panic while held").extend(verdict);
                }
            });
        }
    });
    let mut out = out.into_inner().expect("no panic while held");
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

#[test]
fn scheduler_oracle() {
    let Some(dir) = oracle::folder("scheduler") else { return };
    let _permit = encamp_test_support::permit::processor();
    let filter = std::env::var("ENCAMP_ORACLE_CASE").ok();
    let shown = std::env::var("ENCAMP_ORACLE_DIFFS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let wanted = |case: &Case| match &filter {
        None => true,
        Some(f) => match (f.strip_prefix('='), f.strip_prefix("type:")) {
            (Some(exact), _) => case.name == exact,
            (_, Some(kind)) => case.input.eval.r#type == JobType::from(kind),
            _ => case.name.contains(f.as_str()),
        },
    };
    let (mut equal, mut total, mut places) = (0, 0, Vec::new());
    for (family, cases) in families(&dir) {
        let verdicts = run_all(&cases, &wanted);
        if verdicts.is_empty() {
            continue;
        }
        let good = verdicts.iter().filter(|(_, d)| d.is_empty()).count();
        println!("{family}: {good}/{}", verdicts.len());
        equal += good;
        total += verdicts.len();
        for (name, found) in verdicts.iter().filter(|(_, d)| !d.is_empty()) {
            places.extend(found.first().map(|d| d.place.clone()));
            if filter.is_some() {
                found.iter().take(shown).for_each(|d| println!("  {name}: {d}"));
            }
        }
    }
    for (place, n) in frequencies(places).into_iter().take(20) {
        println!("first difference in {n} cases: {place}");
    }
    println!("scheduler oracle: {equal}/{total} equal");
    if oracle::replaced() {
        return;
    }
    assert!(total > 0, "no case matches");
    if filter.is_none() {
        assert!(equal >= FLOOR, "only {equal} of {total} cases are equal, at least {FLOOR} have to be");
    }
}
