//! Damaged input must not crash the schedulers: recorded states with random damage end in an outcome or an error, never
//! in a panic. `ENCAMP_MUTATIONS=n` damages each state n times (2); every 16th recorded state is used.

use crate::scheduler_cases;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

use crate::recorded;
use crate::scheduler_cases::{families, run};
use encamp_scheduler::NodeOrder;
use serde_json::Value;

/// Panics by place and message.
static PANICS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// A small generator, so that a failure can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Integers that tend to break arithmetic.
const NUMBERS: [i64; 10] =
    [0, -1, 1, 100, 65_536, i64::MAX, i64::MIN, i64::MAX / 2, i32::MAX as i64 + 1, 4_000_000_000_000_000_000];
/// Texts that tend to break parsers.
const TEXTS: [&str; 10] = ["", "é[", "[", "[0]", "${attr.}", "*", "unknown", "1-", "9999999999999999999999", "${"];

fn size(v: &Value) -> usize {
    match v {
        Value::Array(l) => 1 + l.iter().map(size).sum::<usize>(),
        Value::Object(m) => 1 + m.values().map(size).sum::<usize>(),
        _ => 1,
    }
}

/// Damages the value with the given number, counted in document order; true when it was reached.
fn damage(v: &mut Value, key: &str, left: &mut usize, random: &mut Random) -> bool {
    if *left == 0 {
        *v = match (&*v, random.below(4)) {
            // As many allocations as asked for is what is asked for: a huge count takes its time.
            (Value::Number(_), _) if key == "Count" => (NUMBERS[random.below(4)]).into(),
            (Value::Number(_), _) => NUMBERS[random.below(NUMBERS.len())].into(),
            (Value::String(_), _) => TEXTS[random.below(TEXTS.len())].into(),
            (Value::Bool(b), _) => (!b).into(),
            (Value::Array(l), 0) if !l.is_empty() => {
                [l.clone(), vec![l[random.below(l.len())].clone()]].concat().into()
            }
            _ => Value::Null,
        };
        return true;
    }
    *left -= 1;
    match v {
        Value::Array(l) => l.iter_mut().any(|v| damage(v, key, left, random)),
        Value::Object(m) => m.iter_mut().any(|(k, v)| damage(v, k, left, random)),
        _ => false,
    }
}

#[test]
fn damaged_states_do_not_panic() {
    let Some(dir) = recorded::folder("scheduler") else { return };
    let times = std::env::var("ENCAMP_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let hook = take_hook();
    set_hook(Box::new(|info| {
        *PANICS.lock().expect("not poisoned").entry(info.to_string()).or_default() += 1;
    }));
    let mut random = Random(2026);
    let (mut tried, mut refused) = (0, 0);
    for (family, cases) in families(&dir) {
        if family == "large_cluster" {
            continue;
        }
        for text in cases.iter().step_by(16) {
            let case: Value = serde_json::from_str(text).expect("JSON");
            for _ in 0..times {
                let mut input = case["input"].clone();
                for _ in 0..1 + random.below(12) {
                    let mut at = random.below(size(&input));
                    damage(&mut input, "", &mut at, &mut random);
                }
                let Ok(input) = serde_json::from_value::<scheduler_cases::Input>(input) else {
                    refused += 1;
                    continue;
                };
                tried += 1;
                let now = case["now"].as_i64().unwrap_or_default();
                // What panics is counted by the hook.
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    drop(run(&input, &input.state(), now, NodeOrder::Explicit(input.node_order.clone())))
                }));
            }
        }
    }
    println!("{tried} damaged states, {refused} more did not parse");
    set_hook(hook);
    let panics = PANICS.lock().expect("not poisoned").clone();
    assert!(panics.is_empty(), "{panics:#?}");
    assert!(tried > 0);
}
