//! Registers are linearizable; stale reads show what was written before.

use std::collections::BTreeMap;

use super::Verdict;
use crate::history::OnRegister;
use encamp_linear::{Call, Did};

/// Checks the operations on all registers, each register on its own.
pub(crate) fn linearizable(history: &[OnRegister]) -> Verdict {
    let mut keys: BTreeMap<&str, Vec<Call>> = BTreeMap::new();
    for operation in history.iter().filter(|o| !o.stale) {
        keys.entry(&operation.key).or_default().push(operation.call.clone());
    }
    let unknown = keys.values().flatten().filter(|c| c.to.is_none()).count();
    let total: usize = keys.values().map(Vec::len).sum();
    let check = |(key, calls): (&&str, &Vec<Call>)| encamp_linear::check(calls).err().map(|e| format!("{key}: {e}"));
    Verdict {
        what: "registers are linearizable (Wing and Gong)",
        amount: format!("{total} operations on {} registers, {unknown} of unknown outcome", keys.len()),
        broken: keys.iter().filter_map(check).collect(),
    }
}

/// Checks the stale reads: a value was being written before the read ended.
pub(crate) fn stale(history: &[OnRegister]) -> Verdict {
    let written = |call: &Call| match call.did {
        Did::Write(value) | Did::Swap(_, value) => value,
        Did::Read(_) | Did::Refused(_) => None,
    };
    let writes: BTreeMap<u64, i64> =
        history.iter().filter_map(|o| written(&o.call).map(|value| (value, o.call.from))).collect();
    let (mut reads, mut broken) = (0, Vec::new());
    for operation in history.iter().filter(|o| o.stale) {
        let Did::Read(seen) = operation.call.did else { continue };
        reads += 1;
        let Some(value) = seen else { continue };
        match writes.get(&value) {
            None => broken.push(format!("{}: nobody wrote {value}", operation.key)),
            Some(from) if operation.call.to.is_some_and(|to| to < *from) => {
                broken.push(format!("{}: {value} was read before it was written", operation.key));
            }
            Some(_) => {}
        }
    }
    Verdict { what: "stale reads show what was written before", amount: format!("{reads} reads"), broken }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(key: &str, stale: bool, from: i64, to: i64, did: Did) -> OnRegister {
        OnRegister { key: key.into(), stale, call: Call { from, to: Some(to), did } }
    }

    #[test]
    fn each_register_is_checked() {
        let mut history = vec![
            operation("a", false, 0, 10, Did::Write(Some(1))),
            operation("b", false, 0, 10, Did::Write(Some(2))),
            operation("a", false, 20, 30, Did::Read(Some(1))),
            operation("b", false, 20, 30, Did::Swap(Some(2), Some(3))),
        ];
        assert_eq!(linearizable(&history).broken, Vec::<String>::new());
        history.push(operation("b", false, 40, 50, Did::Read(Some(2))));
        assert_eq!(linearizable(&history).broken.len(), 1, "b has an old value");
    }

    #[test]
    fn stale_reads_may_be_old_but_not_new() {
        let write = operation("a", false, 100, 110, Did::Write(Some(1)));
        let old = operation("a", true, 500, 510, Did::Read(None));
        let early = operation("a", true, 90, 105, Did::Read(Some(1)));
        assert_eq!(stale(&[write.clone(), old, early]).broken, Vec::<String>::new());
        let before = operation("a", true, 80, 90, Did::Read(Some(1)));
        assert_eq!(stale(&[write.clone(), before]).broken.len(), 1);
        let never = operation("a", true, 200, 210, Did::Read(Some(9)));
        assert_eq!(stale(&[write, never]).broken.len(), 1);
    }
}
