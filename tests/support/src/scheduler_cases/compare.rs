//! Compares an outcome with a case's expected outcome (`tests/oracle/scheduler/README.md` §5).

use std::fmt;

use serde_json::Value;

/// Scores may differ by this much; large ones by this part of them.
const TOLERANCE: f64 = 1e-9;

/// A place in which outcome and expectation differ.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Where, with list positions as numbers.
    pub path: String,
    /// Where, without list positions.
    pub place: String,
    pub expected: String,
    pub got: String,
}

impl Difference {
    /// The scheduler gave up.
    pub fn failure(error: &str) -> Difference {
        Difference { path: "error".into(), place: "error".into(), expected: "an outcome".into(), got: error.into() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    expected {}\n    got      {}", self.path, self.expected, self.got)
    }
}

/// All differences in document order.
pub fn differences(expected: &Value, got: &Value) -> Vec<Difference> {
    let mut d = Differ::default();
    d.compare(&follow_references(expected), &follow_references(got));
    d.found
}

/// Replaces indexes into `created_evals` by the evaluations and sorts those, so that their order does not matter.
fn follow_references(v: &Value) -> Value {
    let mut v = v.clone();
    let created = v.get("created_evals").and_then(Value::as_array).cloned().unwrap_or_default();
    let resolve = |o: &mut Value, key: &str| {
        let target = o.get(key).and_then(Value::as_u64).and_then(|i| created.get(usize::try_from(i).ok()?));
        if let (Some(slot), Some(t)) = (o.get_mut(key), target) {
            *slot = t.clone();
        }
    };
    resolve(&mut v, "eval_next_eval");
    let Some(members) = v.as_object_mut() else { return v };
    for list in members.values_mut().filter_map(Value::as_array_mut) {
        list.iter_mut().for_each(|o| resolve(o, "followup_eval"));
    }
    if let Some(list) = members.get_mut("created_evals").and_then(Value::as_array_mut) {
        list.sort_by_key(Value::to_string);
    }
    // For debugging only: coalesced failures and repeated searches are not visible in an outcome.
    members.remove("attempt_order");
    v
}

#[derive(Default)]
struct Differ {
    path: Vec<Step>,
    found: Vec<Difference>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Differ {
    fn compare(&mut self, expected: &Value, got: &Value) {
        match (expected, got) {
            (Value::Object(e), Value::Object(g)) => {
                let mut keys: Vec<&String> = e.keys().chain(g.keys()).collect();
                keys.sort_unstable();
                keys.dedup();
                for k in keys {
                    let (a, b) = (e.get(k).unwrap_or(&Value::Null), g.get(k).unwrap_or(&Value::Null));
                    self.path.push(Step::Key(k.clone()));
                    match (k.as_str(), a, b) {
                        ("score_meta", Value::Array(a), Value::Array(b)) => self.compare_scores(a, b),
                        _ => self.compare(a, b),
                    }
                    self.path.pop();
                }
            }
            (Value::Array(e), Value::Array(g)) => self.compare_lists(e, g),
            (Value::Number(e), Value::Number(g)) if e.is_f64() || g.is_f64() => {
                let (e, g) = (e.as_f64().unwrap_or(f64::NAN), g.as_f64().unwrap_or(f64::NAN));
                // Not `>`: a NaN is a difference.
                let close = (e - g).abs() <= TOLERANCE * e.abs().max(1.0);
                if !close {
                    self.differ(expected, got);
                }
            }
            _ if expected == got => {}
            _ => self.differ(expected, got),
        }
    }

    fn compare_lists(&mut self, expected: &[Value], got: &[Value]) {
        if expected.len() != got.len() {
            let first = expected.iter().zip(got).position(|(e, g)| e != g).unwrap_or(expected.len().min(got.len()));
            let text =
                |l: &[Value]| format!("{} entries, [{first}] = {}", l.len(), l.get(first).unwrap_or(&Value::Null));
            self.report(text(expected), text(got));
            return;
        }
        for (i, (e, g)) in expected.iter().zip(got).enumerate() {
            self.path.push(Step::Index(i));
            self.compare(e, g);
            self.path.pop();
        }
    }

    /// Entries at the lowest kept score are interchangeable: which of several equal nodes is kept depends on the layout
    /// of a heap. The others count exactly.
    fn compare_scores(&mut self, expected: &[Value], got: &[Value]) {
        let score = |v: &Value| v.get("norm_score").and_then(Value::as_f64).unwrap_or(f64::NAN);
        let lowest = expected.iter().map(score).fold(f64::INFINITY, f64::min);
        let split = |list: &[Value]| -> (Vec<Value>, usize) {
            let mut above: Vec<Value> = list.iter().filter(|v| score(v) > lowest + TOLERANCE).cloned().collect();
            let at_lowest = list.len() - above.len();
            // Equal scores may come out in either order when they differ in the last bits.
            above.sort_by(|a, b| {
                let key = |v: &Value| ((score(v) / TOLERANCE / 4.0).round(), v["node_id"].to_string());
                let (a, b) = (key(a), key(b));
                b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1))
            });
            (above, at_lowest)
        };
        let ((e, e_low), (g, g_low)) = (split(expected), split(got));
        self.compare_lists(&e, &g);
        let off = !got.iter().all(|v| score(v) >= lowest - TOLERANCE);
        if e.len() == g.len() && (e_low != g_low || off) {
            self.report(format!("{e_low} entries at the lowest score {lowest}"), format!("{g_low}: {got:?}"));
        }
    }

    fn differ(&mut self, expected: &Value, got: &Value) {
        let text = |v: &Value| if v.is_null() { "nothing".to_string() } else { v.to_string() };
        self.report(text(expected), text(got));
    }

    fn report(&mut self, expected: String, got: String) {
        let join = |f: &dyn Fn(&Step) -> String| self.path.iter().map(f).collect::<Vec<_>>().join(".");
        let path = join(&|s| match s {
            Step::Key(k) => k.clone(),
            Step::Index(i) => i.to_string(),
        });
        let place = join(&|s| match s {
            Step::Key(k) => k.clone(),
            Step::Index(_) => "[]".into(),
        });
        self.found.push(Difference { path, place, expected, got });
    }
}
