//! How many allocations of a job use each value of a node property (`spec/scheduling.md §6.9`).

use std::collections::BTreeMap;

use crate::model::quote::quoted;
use crate::model::{Allocation, Job, Node};
use crate::scheduler::constraint::Target;
use crate::scheduler::working_plan::{Change, WorkingPlan};
use crate::state::State;

/// Every value that is no explicit target counts under this one.
pub const OTHERS: &str = "*";

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    existing: i64,
    proposed: i64,
    cleared: i64,
}

impl Counts {
    /// `None` when neither stored nor planned allocations use the value.
    fn combined(self) -> Option<i64> {
        if self.existing == 0 && self.proposed == 0 {
            return None;
        }
        // A value that is placed again gives back one of its stops, but never the only one.
        let cleared = if self.proposed > 0 && self.cleared > 1 { self.cleared - 1 } else { self.cleared };
        Some((self.existing + self.proposed - cleared).max(0))
    }
}

/// The uses of one property by a job, or by one of its groups.
#[derive(Debug, Clone)]
pub struct PropertySet {
    /// The property as written.
    pub attribute: String,
    target: Target,
    namespace: String,
    job_id: String,
    group: Option<String>,
    explicit: Vec<String>,
    counts: BTreeMap<String, Counts>,
    /// How many of the plan's changes are counted.
    cursor: usize,
    /// Smallest and largest combined count, for the even spread.
    extremes: Option<(i64, i64)>,
}

impl PropertySet {
    /// Counts what is stored. With `explicit` values all others count under `*`.
    pub fn new(state: &State, job: &Job, group: Option<&str>, attribute: &str, explicit: Vec<String>) -> PropertySet {
        let mut set = PropertySet {
            attribute: attribute.into(),
            target: Target::parse(attribute),
            namespace: job.namespace.clone(),
            job_id: job.id.clone(),
            group: group.map(str::to_string),
            explicit,
            counts: BTreeMap::new(),
            cursor: 0,
            extremes: None,
        };
        for a in state.allocs_of_job(&job.namespace, &job.id) {
            let same_job = a.alloc.job.as_ref().is_none_or(|j| j.create_index == job.create_index);
            if same_job && !a.alloc.terminal() {
                set.count(state, &a.alloc, |c| &mut c.existing, 1);
            }
        }
        set
    }

    /// Counts the plan's changes since the last call.
    pub fn update(&mut self, state: &State, plan: &WorkingPlan) {
        for change in &plan.changes()[self.cursor.min(plan.changes().len())..] {
            match change {
                Change::Placed(a) if a.terminal() => {}
                Change::Placed(a) => self.count(state, a, |c| &mut c.proposed, 1),
                Change::Stopped(a) => self.count(state, a, |c| &mut c.cleared, 1),
                Change::Unstopped(a) => self.count(state, a, |c| &mut c.cleared, -1),
            }
        }
        self.cursor = plan.changes().len();
        self.extremes = self.find_extremes();
    }

    fn count(&mut self, state: &State, a: &Allocation, field: impl Fn(&mut Counts) -> &mut i64, by: i64) {
        if a.job_id != self.job_id
            || a.namespace != self.namespace
            || self.group.as_ref().is_some_and(|g| *g != a.task_group)
        {
            return;
        }
        let Some(node) = state.node(&a.node_id) else { return };
        let Some(value) = value_of(&self.target, &self.explicit, &node.node) else { return };
        if let Some(c) = self.counts.get_mut(value) {
            *field(c) += by;
        } else {
            let mut c = Counts::default();
            *field(&mut c) += by;
            let value = value.to_string();
            self.counts.insert(value, c);
        }
    }

    /// The node's own value, `None` if it lacks the property.
    pub fn value<'a>(&'a self, node: &'a Node) -> Option<&'a str> {
        self.target.resolve(node)
    }

    /// The value under which a node with that value counts.
    pub fn counted_under<'a>(&self, value: &'a str) -> &'a str {
        counted_under(&self.explicit, value)
    }

    /// How many allocations use the value after the plan; `None` if none is known to.
    pub fn combined(&self, value: &str) -> Option<i64> {
        self.counts.get(value).and_then(|c| c.combined())
    }

    /// Smallest and largest count over all values in use.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        self.extremes
    }

    /// The reference forgets a zero minimum when a later value has a count, so the result depends on the order of
    /// values: ascending here.
    fn find_extremes(&self) -> Option<(i64, i64)> {
        let mut out: Option<(i64, i64)> = None;
        for n in self.counts.values().filter_map(|c| c.combined()) {
            let (min, max) = out.unwrap_or((0, 0));
            out = Some((if min == 0 || n < min { n } else { min }, max.max(n)));
        }
        out
    }
}

fn value_of<'a>(target: &'a Target, explicit: &[String], node: &'a Node) -> Option<&'a str> {
    target.resolve(node).map(|v| counted_under(explicit, v))
}

fn counted_under<'a>(explicit: &[String], value: &'a str) -> &'a str {
    if explicit.is_empty() || explicit.iter().any(|e| e == value) { value } else { OTHERS }
}

/// A `distinct_property` constraint.
#[derive(Debug, Clone)]
pub struct DistinctProperty {
    set: PropertySet,
    allowed: Result<u64, String>,
}

impl DistinctProperty {
    /// For the whole job, or for one group.
    pub fn new(state: &State, job: &Job, group: Option<&str>, attribute: &str, allowed: &str) -> DistinctProperty {
        let parsed = if allowed.is_empty() { Ok(1) } else { parse_count(allowed) };
        DistinctProperty { set: PropertySet::new(state, job, group, attribute, Vec::new()), allowed: parsed }
    }

    /// Counts the plan's changes.
    pub fn update(&mut self, state: &State, plan: &WorkingPlan) {
        self.set.update(state, plan);
    }

    /// Why the node can't be used, if it can't.
    pub fn refuses(&self, node: &Node) -> Option<String> {
        let allowed = match &self.allowed {
            Ok(n) => *n,
            Err(e) => return Some(e.clone()),
        };
        let attribute = &self.set.attribute;
        let Some(value) = self.set.value(node) else { return Some(format!("missing property {}", quoted(attribute))) };
        let used = self.set.combined(value).unwrap_or(0);
        if u64::try_from(used).is_ok_and(|u| u < allowed) {
            return None;
        }
        Some(format!("distinct_property: {attribute}={value} used by {used} allocs"))
    }
}

fn parse_count(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let problem = if digits { "value out of range" } else { "invalid syntax" };
    let parsed = if digits { text.parse().ok() } else { None };
    parsed.ok_or_else(|| {
        let text = quoted(text);
        format!("failed to convert RTarget {text} to uint64: strconv.ParseUint: parsing {text}: {problem}")
    })
}
