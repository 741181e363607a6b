//! Sets: what was acknowledged is there, once, and nothing else but what may have been added.

use std::collections::BTreeMap;

use super::Verdict;
use crate::history::{Add, End};

/// Checks the elements that sets have in the end, in their order.
pub(crate) fn check(adds: &[Add], last: &BTreeMap<String, Vec<u64>>) -> Verdict {
    let mut broken = Vec::new();
    let mut lost: u64 = 0;
    let none = Vec::new();
    for add in adds {
        let times = last.get(&add.set).unwrap_or(&none).iter().filter(|e| **e == add.element).count();
        let element = add.element;
        match (add.end, times) {
            (End::Done, 0) => {
                lost += 1;
                broken.push(format!("{}: {element} was acknowledged and is lost", add.set));
            }
            (End::Refused | End::Failed, 1..) => {
                broken.push(format!("{}: {element} was refused and is there", add.set))
            }
            (_, 2..) => broken.push(format!("{}: {element} is there {times} times", add.set)),
            _ => {}
        }
    }
    for (set, elements) in last {
        let nobody = elements.iter().filter(|e| !adds.iter().any(|a| a.set == *set && a.element == **e));
        broken.extend(nobody.map(|e| format!("{set}: nobody added {e}")));
    }
    let done = adds.iter().filter(|a| a.end == End::Done).count();
    let unknown = adds.iter().filter(|a| a.end == End::Unknown).count();
    Verdict {
        what: "elements of sets that were acknowledged are there, once",
        amount: format!("{done} acknowledged in {} sets, {unknown} of unknown outcome, {lost} lost", last.len()),
        broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(element: u64, end: End) -> Add {
        Add { set: "s".into(), element, end }
    }

    fn broken(adds: &[Add], last: &[u64]) -> usize {
        check(adds, &BTreeMap::from([("s".to_string(), last.to_vec())])).broken.len()
    }

    #[test]
    fn lost_double_and_foreign_elements_are_found() {
        let adds = [add(1, End::Done), add(2, End::Unknown), add(3, End::Refused), add(4, End::Unknown)];
        assert_eq!(broken(&adds, &[1, 2]), 0);
        assert_eq!(broken(&adds, &[2]), 1, "1 is lost");
        assert_eq!(broken(&adds, &[1, 1]), 1, "1 is there twice");
        assert_eq!(broken(&adds, &[1, 4, 4]), 1, "4 is there twice");
        assert_eq!(broken(&adds, &[1, 3]), 1, "3 was refused");
        assert_eq!(broken(&adds, &[1, 9]), 1, "nobody added 9");
        assert_eq!(check(&adds[..1], &BTreeMap::new()).broken.len(), 1, "the whole set is lost");
    }
}
