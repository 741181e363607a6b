//! The parameters of a worker pool (`docs/spec/cluster-scaling.md §1`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::cooldown::{self, Cooldowns};
use crate::meta::{self, Reader};
use crate::record::Direction;

/// The key that enables scaling of the pool a node belongs to.
pub const ENABLED: &str = "replicator_enabled";
/// The key that names the pool.
pub const WORKER_POOL: &str = "replicator_worker_pool";
const MAX: &str = "replicator_max";
const MIN: &str = "replicator_min";
const UID: &str = "replicator_notification_uid";
const REGION: &str = "replicator_region";
const REQUIRED: [&str; 6] = [ENABLED, MAX, MIN, UID, REGION, WORKER_POOL];
const PROVIDER: &str = "replicator_provider";
const COOLDOWN: [&str; 2] = ["replicator_cooldown", "replicator_cool_down"];
const TOLERANCE: [&str; 2] = ["replicator_node_fault_tolerance", "replicator_fault_tolerance"];
const RETRIES: &str = "replicator_retry_threshold";
const REQUESTS: &str = "replicator_scaling_threshold";
const FACTOR: &str = "replicator_scale_factor";

/// The provider of a pool, which starts and terminates its instances (`docs/spec/cluster-scaling.md §9`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// Auto scaling groups of AWS.
    Aws,
    /// A configured program.
    Command,
    /// Client agents of this binary on this machine.
    Local,
}

impl ProviderKind {
    /// All of them.
    pub const ALL: [ProviderKind; 3] = [ProviderKind::Aws, ProviderKind::Command, ProviderKind::Local];

    /// Its name in configuration.
    pub fn name(self) -> &'static str {
        match self {
            ProviderKind::Aws => "aws",
            ProviderKind::Command => "command",
            ProviderKind::Local => "local",
        }
    }

    /// The provider of that name.
    pub fn parse(name: &str) -> Option<ProviderKind> {
        ProviderKind::ALL.into_iter().find(|p| p.name() == name)
    }
}

/// The parameters of a worker pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolParameters {
    /// Name of the pool and of its scaling group.
    pub worker_pool: String,
    /// Scaling is enabled; otherwise nodes are not registered.
    pub enabled: bool,
    /// The most nodes.
    pub max: i64,
    /// The fewest nodes.
    pub min: i64,
    /// The tag of every notification.
    pub notification_uid: String,
    /// Cloud region.
    pub region: String,
    /// The provider that starts and terminates instances.
    pub provider: ProviderKind,
    /// Least time between two operations.
    pub cooldown: Cooldowns,
    /// Nodes whose capacity is held back.
    pub node_fault_tolerance: i64,
    /// Failures before failsafe mode.
    pub retry_threshold: i64,
    /// Consecutive requests before an operation begins.
    pub scaling_threshold: i64,
    /// Nodes added by one operation.
    pub scale_factor: i64,
}

impl PoolParameters {
    /// Every parameter with its key and value, to compare the nodes of a pool.
    pub fn fields(&self) -> [(&'static str, String); 13] {
        let own = |d| self.cooldown.own(d).map_or_else(|| "not set".to_string(), |own| own.as_secs().to_string());
        [
            (MAX, self.max.to_string()),
            (MIN, self.min.to_string()),
            (UID, self.notification_uid.clone()),
            (REGION, self.region.clone()),
            (WORKER_POOL, self.worker_pool.clone()),
            (PROVIDER, self.provider.name().to_string()),
            (COOLDOWN[0], self.cooldown.both.as_secs().to_string()),
            (cooldown::SCALE_OUT, own(Direction::Out)),
            (cooldown::SCALE_IN, own(Direction::In)),
            (TOLERANCE[0], self.node_fault_tolerance.to_string()),
            (RETRIES, self.retry_threshold.to_string()),
            (REQUESTS, self.scaling_threshold.to_string()),
            (FACTOR, self.scale_factor.to_string()),
        ]
    }

    /// Reads the items of a Variable or the meta of a node that holds a full configuration.
    ///
    /// # Errors
    /// All problems, each naming its key.
    pub fn read(meta: &BTreeMap<String, String>) -> Result<PoolParameters, Vec<String>> {
        let mut r = Reader::new(meta);
        let provider = match r.text(PROVIDER) {
            None => ProviderKind::Aws,
            Some(name) => ProviderKind::parse(name).unwrap_or_else(|| {
                let known: Vec<&str> = ProviderKind::ALL.iter().map(|p| p.name()).collect();
                r.wrong::<()>(format!("{PROVIDER} is {name:?}, but must be one of {}", known.join(", ")));
                ProviderKind::Aws
            }),
        };
        let read = PoolParameters {
            enabled: r.bool(ENABLED),
            max: r.int(MAX, 0, None),
            min: r.int(MIN, 0, None),
            notification_uid: r.required(UID),
            region: r.required(REGION),
            worker_pool: r.required(WORKER_POOL),
            provider,
            cooldown: Cooldowns::read(&mut r, &COOLDOWN, 300),
            node_fault_tolerance: r.int_of(&TOLERANCE, 0, Some(1)),
            retry_threshold: r.int(RETRIES, 1, Some(3)),
            scaling_threshold: r.int(REQUESTS, 1, Some(3)),
            scale_factor: r.int(FACTOR, 1, Some(1)),
        };
        let both = [MIN, MAX].iter().all(|k| r.text(k).and_then(meta::int).is_some());
        if both && read.min > read.max {
            r.wrong::<()>(format!("{MIN} is {}, which is more than {MAX}, {}", read.min, read.max));
        }
        r.finish(read)
    }
}

/// The scaling configuration in the meta of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeConfiguration {
    /// Nothing.
    Absent,
    /// It names its pool alone: the pool's Variable holds the rest.
    Pool(String),
    /// Everything.
    Full(Box<PoolParameters>),
    /// Something that does not hold; one line each.
    Invalid(Vec<String>),
}

impl NodeConfiguration {
    /// Reads the meta of a node.
    pub fn read(meta: &BTreeMap<String, String>) -> NodeConfiguration {
        let present: Vec<&str> = REQUIRED.into_iter().filter(|k| meta.contains_key(*k)).collect();
        let others = meta.keys().any(|k| {
            k != WORKER_POOL
                && (REQUIRED.contains(&k.as_str())
                    || COOLDOWN.contains(&k.as_str())
                    || TOLERANCE.contains(&k.as_str())
                    || [PROVIDER, RETRIES, REQUESTS, FACTOR, cooldown::SCALE_OUT, cooldown::SCALE_IN]
                        .contains(&k.as_str()))
        });
        match (present.as_slice(), meta.get(WORKER_POOL)) {
            ([], _) => NodeConfiguration::Absent,
            ([_], Some(pool)) if !others && !pool.is_empty() => NodeConfiguration::Pool(pool.clone()),
            _ => match PoolParameters::read(meta) {
                Ok(p) => NodeConfiguration::Full(Box::new(p)),
                Err(problems) => NodeConfiguration::Invalid(problems),
            },
        }
    }
}

/// Whether a node's or job's meta sets `key` to a true value.
pub fn is_set(meta: &BTreeMap<String, String>, key: &str) -> bool {
    meta.get(key).and_then(|v| meta::bool(v)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn one(seconds: u64) -> Cooldowns {
        Cooldowns::one(Duration::from_secs(seconds))
    }

    fn meta(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    fn full() -> BTreeMap<String, String> {
        meta(&[(ENABLED, "true"), (MAX, "5"), (MIN, "1"), (UID, "u"), (REGION, "r"), (WORKER_POOL, "p")])
    }

    #[test]
    fn defaults_and_aliases() {
        let NodeConfiguration::Full(p) = NodeConfiguration::read(&full()) else { panic!("not full") };
        assert_eq!((p.min, p.max, p.provider, p.cooldown), (1, 5, ProviderKind::Aws, one(300)));
        assert_eq!((p.node_fault_tolerance, p.retry_threshold, p.scaling_threshold, p.scale_factor), (1, 3, 3, 1));
        let mut m = full();
        m.extend(meta(&[("replicator_cool_down", "60"), ("replicator_fault_tolerance", "2")]));
        let NodeConfiguration::Full(p) = NodeConfiguration::read(&m) else { panic!("not full") };
        assert_eq!((p.cooldown, p.node_fault_tolerance), (one(60), 2));
        m.insert("replicator_cooldown".into(), "60".into());
        assert!(matches!(NodeConfiguration::read(&m), NodeConfiguration::Full(_)), "both, the same");
        m.insert("replicator_cooldown".into(), "61".into());
        let NodeConfiguration::Invalid(problems) = NodeConfiguration::read(&m) else { panic!("valid") };
        assert_eq!(problems, ["replicator_cooldown is 61, but its alias replicator_cool_down is 60"]);
    }

    #[test]
    fn each_direction_may_have_a_cooldown_of_its_own() {
        let read = |more: &[(&str, &str)]| {
            let mut m = full();
            m.extend(meta(more));
            NodeConfiguration::read(&m)
        };
        let seconds = |n| Some(Duration::from_secs(n));
        let cases: [(&[(&str, &str)], Cooldowns); 3] = [
            (&[("replicator_scaleout_cooldown", "0")], Cooldowns { scale_out: seconds(0), ..one(300) }),
            (
                &[("replicator_cooldown", "60"), ("replicator_scalein_cooldown", "900")],
                Cooldowns { scale_in: seconds(900), ..one(60) },
            ),
            (
                &[("replicator_scaleout_cooldown", "5"), ("replicator_scalein_cooldown", "6")],
                Cooldowns { scale_out: seconds(5), scale_in: seconds(6), ..one(300) },
            ),
        ];
        for (more, want) in cases {
            let NodeConfiguration::Full(p) = read(more) else { panic!("not full: {more:?}") };
            assert_eq!(p.cooldown, want, "{more:?}");
        }
        for (value, problem) in
            [("-1", "is -1, but must be at least 0"), ("1m", "is \"1m\", which is not a whole number")]
        {
            let NodeConfiguration::Invalid(problems) = read(&[("replicator_scalein_cooldown", value)]) else {
                panic!("valid")
            };
            assert_eq!(problems, [format!("replicator_scalein_cooldown {problem}")]);
        }
        // A node that names its pool and a cooldown is not one that names its pool alone.
        let part = meta(&[(WORKER_POOL, "p"), ("replicator_scalein_cooldown", "5")]);
        assert!(matches!(NodeConfiguration::read(&part), NodeConfiguration::Invalid(_)));
    }

    #[test]
    fn problems_name_the_key() {
        let bad = |key: &str, value: &str| {
            let mut m = full();
            m.insert(key.into(), value.into());
            match NodeConfiguration::read(&m) {
                NodeConfiguration::Invalid(problems) => problems.join("; "),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(bad(ENABLED, "yes"), "replicator_enabled is \"yes\", which is neither true nor false");
        assert_eq!(bad(MAX, "0"), "replicator_min is 1, which is more than replicator_max, 0");
        assert_eq!(bad(MAX, "many"), "replicator_max is \"many\", which is not a whole number");
        assert_eq!(bad(MIN, "-1"), "replicator_min is -1, but must be at least 0");
        assert_eq!(bad(FACTOR, "0"), "replicator_scale_factor is 0, but must be at least 1");
        assert_eq!(bad(PROVIDER, "gcp"), "replicator_provider is \"gcp\", but must be one of aws, command, local");
        assert_eq!(bad("replicator_cooldown", "5m"), "replicator_cooldown is \"5m\", which is not a whole number");
    }

    #[test]
    fn parts_of_a_configuration() {
        assert_eq!(NodeConfiguration::read(&meta(&[("role", "web")])), NodeConfiguration::Absent);
        assert_eq!(NodeConfiguration::read(&meta(&[(WORKER_POOL, "p")])), NodeConfiguration::Pool("p".into()));
        let NodeConfiguration::Invalid(problems) = NodeConfiguration::read(&meta(&[(WORKER_POOL, "p"), (MAX, "3")]))
        else {
            panic!("valid")
        };
        let want = ["replicator_enabled is missing", "replicator_min is missing"];
        assert_eq!(problems[..2], want);
        assert_eq!(problems.len(), 4);
    }
}
