//! How far an edit is from what was asked for, in points: the order of suggestions.
//!
//! A point is one percent of a resource of one group. What an operator gives away more easily costs less: a canary less
//! than a fixed port, a fixed port less than a constraint, other people's allocations more than all of these, and
//! machines most. `docs/guide/suggest.md` has the table.

use super::edit::Edit;

/// The cost of each allocation of others that is evicted.
const EVICTED: f64 = 10.0;
/// Two edits are harder to agree on than one with the same loss.
const FURTHER_EDIT: f64 = 5.0;

/// The points of a suggestion that evicts so many allocations.
pub fn cost(edits: &[Edit], evicted: usize) -> f64 {
    let further = edits.len().saturating_sub(1);
    edits.iter().map(of).sum::<f64>() + FURTHER_EDIT * real(further) + EVICTED * real(evicted)
}

/// The points of one edit, without those of evictions.
fn of(edit: &Edit) -> f64 {
    match edit {
        Edit::Task { old, new, .. } | Edit::Device { old, new, .. } => 100.0 * lost(*old, *new),
        Edit::Reserve { old, new, .. } => 60.0 * lost(*old, *new),
        Edit::Disk { old, new, .. } => 50.0 * lost(*old, *new),
        Edit::Count { old, new, .. } => 150.0 * lost(*old, *new),
        Edit::Canaries { old, new, .. } | Edit::Parallel { old, new, .. } => 5.0 + 10.0 * lost(*old, *new),
        Edit::Datacenter { .. } => 15.0,
        Edit::Port { .. } => 20.0,
        Edit::ConstraintValue { .. } => 25.0,
        Edit::DropPort { .. } => 30.0,
        Edit::Moves { plan, .. } => 15.0 * real(plan.moves),
        Edit::Priority { old, new } => 25.0 + real(usize::try_from(new.saturating_sub(*old)).unwrap_or(0)) / 10.0,
        Edit::DropConstraint { .. } => 40.0,
        Edit::Pool { .. } => 45.0,
        Edit::Preemption { .. } => 60.0,
        Edit::Wait { ends, .. } => 30.0 + real(ends.len()),
        Edit::AddNodes { count, .. } => 80.0 * real(usize::try_from(*count).unwrap_or(usize::MAX)),
    }
}

/// The share that is lost, from 0 to 1.
fn lost(old: i64, new: i64) -> f64 {
    let share = |n: i64| i32::try_from(n).map_or(f64::from(i32::MAX), f64::from);
    if old <= 0 { 0.0 } else { (share(old) - share(new)) / share(old) }
}

fn real(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suggest::edit::{Amount, Holder};

    #[test]
    fn small_losses_come_before_constraints_and_machines_come_last() {
        let memory = |old, new| Edit::Task { group: "g".into(), task: "t".into(), amount: Amount::Memory, old, new };
        let dropped = Edit::DropConstraint { holder: Holder::job(), number: 0, text: String::new(), nodes: 1 };
        let added = Edit::AddNodes { count: 1, like: "n".into(), class: String::new(), pool: "default".into() };
        let of = |edits: &[&Edit], evicted| cost(&edits.iter().map(|e| (*e).clone()).collect::<Vec<_>>(), evicted);
        let (small, large) = (memory(1000, 950), memory(1000, 200));
        assert_eq!(of(&[&small], 0), 5.0);
        let order =
            [of(&[&small], 0), of(&[&dropped], 0), of(&[&dropped], 1), of(&[&large], 0), of(&[&large, &small], 0)];
        assert!(order.is_sorted() && order[4] < of(&[&added, &small], 0) + 5.0, "{order:?}");
    }
}
