//! How many allocations of a job use each value of a node property (`docs/spec/scheduling.md §6.9`).

use std::collections::HashMap;

use thiserror::Error;

use super::by_class::ByClass;
use crate::constraint::{Target, escapes};
use crate::working_plan::{Change, WorkingPlan};
use encamp_model::quote::quoted;
use encamp_model::{Allocation, Job};
use encamp_state::{IdHash, NodeEntry, State};

/// Every value that is no explicit target counts under this one.
pub(crate) const OTHERS: &str = "*";

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

/// One value of a property.
#[derive(Debug, Clone)]
struct Value {
    text: String,
    /// The value under which it counts: itself or `*`.
    counted_under: usize,
    counts: Counts,
}

/// The uses of one property by a job, or by one of its groups. Values are numbered as they are met.
#[derive(Debug, Clone)]
pub(crate) struct PropertySet {
    /// The property as written.
    pub attribute: String,
    target: Target,
    namespace: String,
    job_id: String,
    group: Option<String>,
    explicit: Vec<String>,
    values: Vec<Value>,
    numbers: HashMap<String, usize, IdHash>,
    /// Values that were ever counted, by ascending text.
    counted: Vec<usize>,
    /// Values by computed class, none where the property is missing; unless the property is not part of the class.
    by_class: Option<ByClass<Option<usize>>>,
    /// How many of the plan's changes are counted.
    cursor: usize,
    /// Smallest and largest combined count, for the even spread.
    extremes: Option<(i64, i64)>,
}

impl PropertySet {
    /// Counts what is stored. With `explicit` values all others count under `*`.
    pub(crate) fn new(
        state: &State,
        job: &Job,
        group: Option<&str>,
        attribute: &str,
        explicit: Vec<String>,
    ) -> PropertySet {
        let mut set = PropertySet {
            attribute: attribute.into(),
            target: Target::parse(attribute),
            namespace: job.namespace.clone(),
            job_id: job.id.clone(),
            group: group.map(str::to_string),
            explicit,
            values: Vec::new(),
            numbers: HashMap::default(),
            counted: Vec::new(),
            by_class: (!escapes(attribute)).then(|| ByClass::new(state.node_index().classes().len())),
            cursor: 0,
            extremes: None,
        };
        for a in state.allocs_of_job_id(&job.id).filter(|a| a.alloc.namespace == job.namespace) {
            let same_job = a.alloc.job.as_ref().is_none_or(|j| j.create_index == job.create_index);
            if same_job && !a.phase.terminal() {
                set.count(state, &a.alloc, |c| &mut c.existing, 1);
            }
        }
        set
    }

    /// Counts the plan's changes since the last call.
    pub(crate) fn update(&mut self, state: &State, plan: &WorkingPlan) {
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
        let class = state.node_index().class_of(node.slot);
        let Some(value) = self.value(node, class) else { return };
        let value = self.values[value].counted_under;
        let values = &self.values;
        let place = self.counted.binary_search_by(|v| values[*v].text.cmp(&values[value].text));
        if let Err(i) = place {
            self.counted.insert(i, value);
        }
        *field(&mut self.values[value].counts) += by;
    }

    /// The number of the node's own value, `None` if it lacks the property.
    pub(crate) fn value(&mut self, node: &NodeEntry, class: usize) -> Option<usize> {
        let shared = node.info.class_holds;
        if shared && let Some(known) = self.by_class.as_ref().and_then(|c| c.get(class)) {
            return known;
        }
        let found = self.target.resolve(&node.node).map(|v| match self.numbers.get(v) {
            Some(n) => Ok(*n),
            None => Err(v.to_string()),
        });
        let number = found.map(|f| f.unwrap_or_else(|text| self.add(text)));
        if shared && let Some(classes) = &mut self.by_class {
            classes.set(class, number);
        }
        number
    }

    /// Numbers a new value, and `*` if it counts under that.
    fn add(&mut self, text: String) -> usize {
        let number = self.values.len();
        self.numbers.insert(text.clone(), number);
        let other = !self.explicit.is_empty() && !self.explicit.contains(&text) && text != OTHERS;
        self.values.push(Value { text, counted_under: number, counts: Counts::default() });
        if other {
            let others = self.numbers.get(OTHERS).copied();
            let others = others.unwrap_or_else(|| self.add(OTHERS.to_string()));
            self.values[number].counted_under = others;
        }
        number
    }

    /// The text of a value.
    pub(crate) fn text(&self, value: usize) -> &str {
        &self.values[value].text
    }

    /// How many values have numbers.
    pub(crate) fn value_count(&self) -> usize {
        self.values.len()
    }

    /// How many allocations use the value after the plan; `None` if none is known to.
    pub(crate) fn combined(&self, value: usize) -> Option<i64> {
        self.values.get(value)?.counts.combined()
    }

    /// The same for all that counts under the same value.
    pub(crate) fn combined_with_others(&self, value: usize) -> Option<i64> {
        self.combined(self.values.get(value)?.counted_under)
    }

    /// Smallest and largest count over all values in use.
    pub(crate) fn extremes(&self) -> Option<(i64, i64)> {
        self.extremes
    }

    /// Nomad forgets a zero minimum when a later value has a count, so the result depends on the order of
    /// values: ascending here.
    fn find_extremes(&self) -> Option<(i64, i64)> {
        let mut out: Option<(i64, i64)> = None;
        for n in self.counted.iter().filter_map(|v| self.combined(*v)) {
            let (min, max) = out.unwrap_or((0, 0));
            out = Some((if min == 0 || n < min { n } else { min }, max.max(n)));
        }
        out
    }
}

/// The value of a `distinct_property` constraint is no count.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "failed to convert RTarget {shown} to uint64: strconv.ParseUint: parsing {shown}: {problem}",
    shown = quoted(text)
)]
struct InvalidCount {
    text: String,
    problem: &'static str,
}

/// A `distinct_property` constraint.
#[derive(Debug, Clone)]
pub(crate) struct DistinctProperty {
    set: PropertySet,
    allowed: Result<u64, InvalidCount>,
}

impl DistinctProperty {
    /// For the whole job, or for one group.
    pub(crate) fn new(
        state: &State,
        job: &Job,
        group: Option<&str>,
        attribute: &str,
        allowed: &str,
    ) -> DistinctProperty {
        let parsed = if allowed.is_empty() { Ok(1) } else { parse_count(allowed) };
        DistinctProperty { set: PropertySet::new(state, job, group, attribute, Vec::new()), allowed: parsed }
    }

    /// Counts the plan's changes.
    pub(crate) fn update(&mut self, state: &State, plan: &WorkingPlan) {
        self.set.update(state, plan);
    }

    /// Why the node can't be used, if it can't.
    pub(crate) fn refuses(&mut self, node: &NodeEntry, class: usize) -> Option<String> {
        let allowed = match &self.allowed {
            Ok(n) => *n,
            Err(e) => return Some(e.to_string()),
        };
        let value = self.set.value(node, class);
        let attribute = &self.set.attribute;
        let Some(value) = value else { return Some(format!("missing property {}", quoted(attribute))) };
        let used = self.set.combined(value).unwrap_or(0);
        if u64::try_from(used).is_ok_and(|u| u < allowed) {
            return None;
        }
        let value = self.set.text(value);
        Some(format!("distinct_property: {attribute}={value} used by {used} allocs"))
    }
}

fn parse_count(text: &str) -> Result<u64, InvalidCount> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let problem = if digits { "value out of range" } else { "invalid syntax" };
    let parsed = if digits { text.parse().ok() } else { None };
    parsed.ok_or_else(|| InvalidCount { text: text.to_string(), problem })
}
