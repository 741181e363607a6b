//! Device requests: whether a node can satisfy them, and which instances to assign (`docs/spec/scheduling.md §6.3,
//! 7.4`).

use std::cmp::Ordering;

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

use crate::constraint::Operator;
use encamp_model::{AllocatedDeviceResource, Attribute, NodeDeviceResource, RequestedDevice};
use encamp_state::{NodeEntry, NodeInfo};

/// A typed device attribute or literal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A whole number and its unit (index into [`UNITS`]).
    Int(i64, Option<usize>),
    /// A number and its unit.
    Float(f64, Option<usize>),
    /// A truth value.
    Bool(bool),
    /// Anything else.
    Text(String),
}

/// Unit, what it measures, and its factor; a negative one divides.
const UNITS: [(&str, &str, i64); 33] = [
    ("KiB/s", "B/s", 1 << 10),
    ("MiB/s", "B/s", 1 << 20),
    ("GiB/s", "B/s", 1 << 30),
    ("TiB/s", "B/s", 1 << 40),
    ("PiB/s", "B/s", 1 << 50),
    ("EiB/s", "B/s", 1 << 60),
    ("kB/s", "B/s", 1_000),
    ("KB/s", "B/s", 1_000),
    ("MB/s", "B/s", 1_000_000),
    ("GB/s", "B/s", 1_000_000_000),
    ("TB/s", "B/s", 1_000_000_000_000),
    ("PB/s", "B/s", 1_000_000_000_000_000),
    ("EB/s", "B/s", 1_000_000_000_000_000_000),
    ("KiB", "B", 1 << 10),
    ("MiB", "B", 1 << 20),
    ("GiB", "B", 1 << 30),
    ("TiB", "B", 1 << 40),
    ("PiB", "B", 1 << 50),
    ("EiB", "B", 1 << 60),
    ("kB", "B", 1_000),
    ("KB", "B", 1_000),
    ("MB", "B", 1_000_000),
    ("GB", "B", 1_000_000_000),
    ("TB", "B", 1_000_000_000_000),
    ("PB", "B", 1_000_000_000_000_000),
    ("EB", "B", 1_000_000_000_000_000_000),
    ("MHz", "Hz", 1_000_000),
    ("GHz", "Hz", 1_000_000_000),
    ("mW", "W", -1_000),
    ("W", "W", 1),
    ("kW", "W", 1_000),
    ("MW", "W", 1_000_000),
    ("GW", "W", 1_000_000_000),
];

fn unit_index(name: &str) -> Option<usize> {
    UNITS.iter().position(|u| u.0 == name)
}

impl Value {
    /// Parses a literal: a number with an optional unit, a truth value, else text.
    pub(crate) fn parse(s: &str) -> Value {
        let (mut number, mut u) = (s, None);
        if s.ends_with(|c: char| c.is_alphabetic()) {
            let longest = UNITS.iter().enumerate().filter(|(_, u)| s.ends_with(u.0)).max_by_key(|(_, u)| u.0.len());
            if let Some((i, (name, ..))) = longest {
                number = s.strip_suffix(name).unwrap_or(s).trim();
                u = Some(i);
            }
        }
        if let Ok(v) = number.parse::<i64>() {
            return Value::Int(v, u);
        }
        if let Ok(v) = number.parse::<f64>() {
            return Value::Float(v, u);
        }
        encamp_model::parse_bool(s).map_or_else(|| Value::Text(s.into()), Value::Bool)
    }

    fn from_attribute(a: &Attribute) -> Value {
        let u = unit_index(&a.unit);
        if let Some(v) = a.int {
            Value::Int(v, u)
        } else if let Some(v) = a.float {
            Value::Float(v, u)
        } else if let Some(v) = a.bool {
            Value::Bool(v)
        } else {
            Value::Text(a.string.clone().unwrap_or_default())
        }
    }

    fn unit(&self) -> Option<usize> {
        match self {
            Value::Int(_, u) | Value::Float(_, u) => *u,
            _ => None,
        }
    }

    /// `None` when the two can't be compared. Different truth values compare as greater.
    fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self.unit(), other.unit()) {
            (Some(a), Some(b)) if UNITS[a].1 != UNITS[b].1 => return None,
            (Some(_), None) | (None, Some(_)) => return None,
            _ => {}
        }
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
            (Value::Bool(a), Value::Bool(b)) => Some(if a == b { Ordering::Equal } else { Ordering::Greater }),
            (Value::Int(a, ua), Value::Int(b, ub)) => Some(scale(*a, *ua).cmp(&scale(*b, *ub))),
            _ => self.exact()?.partial_cmp(&other.exact()?),
        }
    }

    /// The number as a float wide enough to be exact after scaling.
    fn exact(&self) -> Option<FBig<HalfEven, 2>> {
        let (v, u) = match self {
            Value::Int(v, u) => (FBig::<HalfEven, 2>::from(*v), u),
            Value::Float(v, u) => (FBig::<HalfEven, 2>::try_from(*v).ok()?, u),
            _ => return None,
        };
        let v = v.with_precision(256).value();
        Some(match u.map(|u| UNITS[u].2) {
            None => v,
            Some(f) if f < 0 => v / FBig::from(-f),
            Some(f) => v * FBig::from(f),
        })
    }
}

/// A whole number in base units.
fn scale(v: i64, u: Option<usize>) -> i64 {
    match u.map(|u| UNITS[u].2) {
        None => v,
        Some(f) if f < 0 => v / -f,
        Some(f) => v.wrapping_mul(f),
    }
}

/// One side of a device constraint.
#[derive(Debug, Clone)]
enum Target {
    Literal(Value),
    Ids,
    Model,
    Vendor,
    Type,
    Attr(String),
    Unknown,
}

impl Target {
    fn parse(s: &str) -> Target {
        match s {
            "${device.ids}" => Target::Ids,
            "${device.model}" => Target::Model,
            "${device.vendor}" => Target::Vendor,
            "${device.type}" => Target::Type,
            _ if !s.starts_with("${") => Target::Literal(Value::parse(s)),
            _ => match s.strip_prefix("${device.attr.") {
                Some(rest) => Target::Attr(rest.strip_suffix('}').unwrap_or(rest).into()),
                None => Target::Unknown,
            },
        }
    }

    fn resolve(&self, d: &NodeDeviceResource) -> Option<Value> {
        let text = |s: &str| Some(Value::Text(s.into()));
        match self {
            Target::Literal(v) => Some(v.clone()),
            Target::Ids => Some(Value::Text(d.instances.iter().map(|i| i.id.as_str()).collect::<Vec<_>>().join(","))),
            Target::Model => text(&d.name),
            Target::Vendor => text(&d.vendor),
            Target::Type => text(&d.r#type),
            Target::Attr(k) => d.attributes.get(k).map(Value::from_attribute),
            Target::Unknown => None,
        }
    }
}

/// A device constraint or the condition of a device affinity.
#[derive(Debug, Clone)]
struct Check {
    left: Target,
    right: Target,
    operator: Operator,
    /// The operator for one instance: there the ID is the right side, so nothing is compiled ahead.
    for_instance: Operator,
    weight: i64,
}

impl Check {
    fn new(left: &str, operand: &str, right: &str, weight: i64) -> Check {
        let operator = Operator::compile(operand, if right.starts_with("${") { None } else { Some(right) });
        let for_instance = Operator::compile(operand, None);
        Check { left: Target::parse(left), right: Target::parse(right), operator, for_instance, weight }
    }

    fn matches(&self, d: &NodeDeviceResource) -> bool {
        let (l, r) = (self.left.resolve(d), self.right.resolve(d));
        match &self.operator {
            Operator::IsSet => return l.is_some(),
            Operator::IsNotSet => return l.is_none(),
            Operator::NotEqual => {
                return match (&l, &r) {
                    (None, None) => false,
                    (Some(l), Some(r)) => l.compare(r).is_some_and(Ordering::is_ne),
                    _ => true,
                };
            }
            Operator::Distinct => return false,
            _ => {}
        }
        let (Some(l), Some(r)) = (l, r) else { return false };
        match &self.operator {
            Operator::Equal => l.compare(&r).is_some_and(Ordering::is_eq),
            Operator::Order { less, equal } => {
                l.compare(&r).is_some_and(|o| if o.is_eq() { *equal } else { o.is_lt() == *less })
            }
            Operator::Version(..) => {
                let left = match &l {
                    Value::Text(s) => s.clone(),
                    Value::Int(v, _) => v.to_string(),
                    _ => return false,
                };
                matches!(&r, Value::Text(_)) && self.operator.matches(Some(&left), text(&r))
            }
            _ => text(&l).is_some() && text(&r).is_some() && self.operator.matches(text(&l), text(&r)),
        }
    }

    /// The other side of a constraint on instance IDs must hold for the instance.
    fn allows_instance(&self, d: &NodeDeviceResource, id: &str) -> bool {
        let other = match (&self.left, &self.right) {
            (Target::Ids, other) | (other, Target::Ids) => other,
            _ => return true,
        };
        match other.resolve(d) {
            Some(Value::Text(s)) => self.for_instance.matches(Some(&s), Some(id)),
            _ => false,
        }
    }
}

fn text(v: &Value) -> Option<&str> {
    if let Value::Text(s) = v { Some(s) } else { None }
}

/// A device request, compiled.
#[derive(Debug, Clone)]
pub struct DeviceAsk {
    /// How many instances.
    pub count: u64,
    vendor: Option<String>,
    kind: String,
    model: Option<String>,
    constraints: Vec<Check>,
    affinities: Vec<Check>,
}

/// Instances offered for one request.
#[derive(Debug, Clone)]
pub(crate) struct DeviceOffer {
    /// The assigned resources of the task.
    pub device: AllocatedDeviceResource,
    /// Numbers of the instances on the node.
    pub instances: Vec<usize>,
    /// Sum of the weights of the affinities the group satisfies.
    pub matched_weights: f64,
}

impl From<&RequestedDevice> for DeviceAsk {
    fn from(r: &RequestedDevice) -> DeviceAsk {
        let mut parts = r.name.splitn(3, '/').map(str::to_string);
        let (a, b, c) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let (vendor, kind) = match b {
            Some(b) => (Some(a), b),
            None => (None, a),
        };
        let check = |l: &str, o: &str, r: &str, w| Check::new(l, o, r, w);
        DeviceAsk {
            count: r.count,
            vendor,
            kind,
            model: c,
            constraints: r.constraints.iter().map(|c| check(&c.ltarget, &c.operand, &c.rtarget, 0)).collect(),
            affinities: r.affinities.iter().map(|a| check(&a.ltarget, &a.operand, &a.rtarget, a.weight)).collect(),
        }
    }
}

impl DeviceAsk {
    /// Whether the group of devices may serve the request.
    pub fn matches(&self, d: &NodeDeviceResource) -> bool {
        self.kind == d.r#type
            && self.vendor.as_ref().is_none_or(|v| *v == d.vendor)
            && self.model.as_ref().is_none_or(|m| *m == d.name)
            && self.constraints.iter().all(|c| c.matches(d))
    }

    /// Sum of the absolute weights of the affinities.
    pub(crate) fn total_weight(&self) -> f64 {
        self.affinities.iter().map(|a| a.weight.unsigned_abs() as f64).sum()
    }

    fn matched_weight(&self, d: &NodeDeviceResource) -> f64 {
        self.affinities.iter().filter(|a| a.matches(d)).map(|a| a.weight as f64).sum()
    }

    /// Chooses instances given how often each is used already. Groups are taken by vendor, type and name, a later one
    /// of equal score replacing an earlier one; instances by ID.
    pub(crate) fn assign(&self, node: &NodeEntry, used: impl Fn(usize) -> bool) -> Result<DeviceOffer, &'static str> {
        let groups = node.node.node_resources.as_ref().map_or(&[][..], |r| &r.devices);
        if groups.is_empty() {
            return Err("no devices available");
        }
        if self.count == 0 {
            return Err("invalid request of zero devices");
        }
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|a, b| key(&groups[*a]).cmp(&key(&groups[*b])));
        let total = self.total_weight();
        let mut best: Option<(f64, DeviceOffer)> = None;
        for g in order {
            let d = &groups[g];
            if !self.matches(d) {
                continue;
            }
            let mut free: Vec<(&str, usize)> = Vec::new();
            for (i, inst) in d.instances.iter().enumerate() {
                let number = node.info.devices[g] + i;
                if inst.healthy && !used(number) && self.constraints.iter().all(|c| c.allows_instance(d, &inst.id)) {
                    free.push((&inst.id, number));
                }
            }
            if (free.len() as u64) < self.count {
                continue;
            }
            free.sort_unstable();
            free.truncate(self.count as usize);
            let matched = self.matched_weight(d);
            let score = if total > 0.0 { matched / total } else { 0.0 };
            if best.as_ref().is_some_and(|(b, _)| score < *b) {
                continue;
            }
            let device = AllocatedDeviceResource {
                vendor: d.vendor.clone(),
                r#type: d.r#type.clone(),
                name: d.name.clone(),
                device_ids: free.iter().map(|(id, _)| id.to_string()).collect(),
            };
            let instances = free.iter().map(|(_, n)| *n).collect();
            best = Some((score, DeviceOffer { device, instances, matched_weights: matched }));
        }
        best.map(|(_, o)| o).ok_or("no devices match request")
    }
}

/// Sort key of a device group.
pub(crate) fn key(d: &NodeDeviceResource) -> (&str, &str, &str) {
    (&d.vendor, &d.r#type, &d.name)
}

/// Whether the node could serve all requests if nothing were in use; a request may be spread over several groups.
pub(crate) fn feasible(asks: &[DeviceAsk], groups: &[NodeDeviceResource]) -> bool {
    if asks.is_empty() {
        return true;
    }
    let mut free: Vec<u64> = groups.iter().map(|d| d.instances.iter().filter(|i| i.healthy).count() as u64).collect();
    asks.iter().all(|ask| {
        let mut missing = ask.count;
        for (d, free) in groups.iter().zip(&mut free) {
            if missing > 0 && *free > 0 && ask.matches(d) {
                let taken = missing.min(*free);
                *free -= taken;
                missing -= taken;
            }
        }
        missing == 0
    }) && !groups.is_empty()
}

/// The instance numbers of a group on a node.
pub(crate) fn instances_of(info: &NodeInfo, group: usize) -> std::ops::Range<usize> {
    info.devices[group]..info.devices[group + 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comparison() {
        let cmp = |a: &str, b: &str| Value::parse(a).compare(&Value::parse(b));
        assert_eq!(Value::parse("11 GiB"), Value::Int(11, unit_index("GiB")));
        assert_eq!(Value::parse("true"), Value::Bool(true));
        assert_eq!(Value::parse("1"), Value::Int(1, None));
        assert_eq!(cmp("1 GiB", "1024 MiB"), Some(Ordering::Equal));
        assert_eq!(cmp("1500mW", "1W"), Some(Ordering::Equal));
        assert_eq!(cmp("1.5 GiB", "1610612736 B"), None);
        assert_eq!(cmp("1.5 GiB", "1536 MiB"), Some(Ordering::Equal));
        assert_eq!(cmp("5", "11 GiB"), None);
        assert_eq!(cmp("true", "false"), Some(Ordering::Greater));
        assert_eq!(cmp("abc", "abd"), Some(Ordering::Less));
        assert_eq!(cmp("1 MB/s", "1 MB"), None);
    }

    /// Of an instance, the ID is the right side whichever side it was written on.
    #[test]
    fn instance_constraints_compare_the_other_side_with_the_id() {
        let d = NodeDeviceResource::default();
        let allows =
            |left: &str, operand: &str, right: &str, id| Check::new(left, operand, right, 0).allows_instance(&d, id);
        assert!(allows("${device.ids}", "regexp", "d1", "d1"));
        assert!(!allows("${device.ids}", "regexp", "d1", "d2"));
        assert!(allows("d1,d2", "set_contains", "${device.ids}", "d2"));
        assert!(allows("${device.ids}", "set_contains", "d1,d2", "d2"));
        assert!(!allows("${device.ids}", "set_contains", "d1,d2", "d3"));
        assert!(allows("${device.model}", "=", "x", "d3"));
    }
}
