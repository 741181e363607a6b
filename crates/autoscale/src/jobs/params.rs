//! The parameters of a job's group (`docs/spec/cluster-scaling.md §13`).

use std::collections::BTreeMap;

use crate::cooldown::Cooldowns;
use crate::meta::Reader;
use crate::params::ENABLED;

const MIN: &str = "replicator_min";
const MAX: &str = "replicator_max";
const UID: &str = "replicator_notification_uid";
const IN_CPU: &str = "replicator_scalein_cpu";
const IN_MEMORY: &str = "replicator_scalein_mem";
const OUT_CPU: &str = "replicator_scaleout_cpu";
const OUT_MEMORY: &str = "replicator_scaleout_mem";
const REQUIRED: [&str; 8] = [ENABLED, MIN, MAX, UID, IN_CPU, IN_MEMORY, OUT_CPU, OUT_MEMORY];
const COOLDOWN: &str = "replicator_cooldown";
const RETRIES: &str = "replicator_retry_threshold";

/// Between which shares of what it asks for a group may use a resource without being scaled, percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Below: one allocation fewer.
    pub scale_in: i64,
    /// Above: one allocation more.
    pub scale_out: i64,
}

/// The parameters of a job's group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupParameters {
    /// Scaling is enabled; otherwise the group is left alone.
    pub enabled: bool,
    /// The fewest allocations.
    pub min: i64,
    /// The most allocations.
    pub max: i64,
    /// The tag of every notification.
    pub notification_uid: String,
    /// Bounds of CPU.
    pub cpu: Bounds,
    /// Bounds of memory.
    pub memory: Bounds,
    /// Least time between two changes of the count.
    pub cooldown: Cooldowns,
    /// Failures before failsafe mode.
    pub retry_threshold: i64,
}

/// The scaling configuration in the meta of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupConfiguration {
    /// None of the required keys is there.
    Absent,
    /// Everything.
    Full(Box<GroupParameters>),
    /// Something that does not hold; one line each.
    Invalid(Vec<String>),
}

impl GroupConfiguration {
    /// The parameters, if they hold.
    pub fn parameters(&self) -> Option<&GroupParameters> {
        match self {
            GroupConfiguration::Full(parameters) => Some(parameters),
            GroupConfiguration::Absent | GroupConfiguration::Invalid(_) => None,
        }
    }

    /// Reads the meta of a group.
    pub fn read(meta: &BTreeMap<String, String>) -> GroupConfiguration {
        if !REQUIRED.iter().any(|key| meta.contains_key(*key)) {
            return GroupConfiguration::Absent;
        }
        match GroupParameters::read(meta) {
            Ok(p) => GroupConfiguration::Full(Box::new(p)),
            Err(problems) => GroupConfiguration::Invalid(problems),
        }
    }
}

impl GroupParameters {
    fn read(meta: &BTreeMap<String, String>) -> Result<GroupParameters, Vec<String>> {
        let mut r = Reader::new(meta);
        let read = GroupParameters {
            enabled: r.bool(ENABLED),
            min: r.int(MIN, 0, None),
            max: r.int(MAX, 0, None),
            notification_uid: r.required(UID),
            cpu: bounds(&mut r, meta, (IN_CPU, OUT_CPU)),
            memory: bounds(&mut r, meta, (IN_MEMORY, OUT_MEMORY)),
            cooldown: Cooldowns::read(&mut r, &[COOLDOWN], 60),
            retry_threshold: r.int(RETRIES, 1, Some(1)),
        };
        // Where max did not parse, that is the problem.
        if read.min > read.max && meta.get(MAX).is_some_and(|max| crate::meta::int(max).is_some_and(|n| n >= 0)) {
            r.wrong::<()>(format!("{MIN} is {}, which is more than {MAX}, {}", read.min, read.max));
        }
        r.finish(read)
    }
}

/// Two percentages, the first of which must be less than the second.
fn bounds(r: &mut Reader<'_>, meta: &BTreeMap<String, String>, keys: (&str, &str)) -> Bounds {
    let read = Bounds { scale_in: percentage(r, keys.0), scale_out: percentage(r, keys.1) };
    let valid = |key| meta.get(key).and_then(|text| crate::meta::int(text)).is_some_and(|n| (0..=100).contains(&n));
    if read.scale_in >= read.scale_out && valid(keys.0) && valid(keys.1) {
        let (low, high) = (read.scale_in, read.scale_out);
        r.wrong::<()>(format!("{} is {low}, but must be less than {}, {high}", keys.0, keys.1));
    }
    read
}

fn percentage(r: &mut Reader<'_>, key: &str) -> i64 {
    match r.int(key, 0, None) {
        n if n > 100 => r.wrong(format!("{key} is {n}, but must be at most 100")),
        n => n,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;

    /// Valid meta of a group with some values replaced; an empty value removes the key.
    pub(crate) fn meta(more: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut meta: BTreeMap<String, String> = [
            (ENABLED, "true"),
            (MIN, "1"),
            (MAX, "5"),
            (UID, "team-a"),
            (IN_CPU, "30"),
            (IN_MEMORY, "40"),
            (OUT_CPU, "75"),
            (OUT_MEMORY, "85"),
        ]
        .map(|(k, v)| (k.to_string(), v.to_string()))
        .into();
        meta.extend(more.iter().map(|(k, v)| (k.to_string(), v.to_string())));
        meta.retain(|_, v| !v.is_empty());
        meta
    }

    /// The parameters of [`meta`].
    pub(crate) fn parameters(more: &[(&str, &str)]) -> GroupParameters {
        match GroupConfiguration::read(&meta(more)) {
            GroupConfiguration::Full(p) => *p,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_and_defaults() {
        let p = parameters(&[]);
        assert_eq!((p.enabled, p.min, p.max, p.notification_uid.as_str()), (true, 1, 5, "team-a"));
        assert_eq!((p.cpu, p.memory), (Bounds { scale_in: 30, scale_out: 75 }, Bounds { scale_in: 40, scale_out: 85 }));
        assert_eq!((p.cooldown, p.retry_threshold), (Cooldowns::one(Duration::from_secs(60)), 1));
        let p = parameters(&[(COOLDOWN, "5"), (RETRIES, "3"), (IN_CPU, "0"), (OUT_CPU, "100"), (ENABLED, "f")]);
        assert_eq!((p.cooldown, p.retry_threshold, p.enabled), (Cooldowns::one(Duration::from_secs(5)), 3, false));
        let p = parameters(&[("replicator_scalein_cooldown", "600"), ("replicator_scaleout_cooldown", "7")]);
        let seconds = |n| Some(Duration::from_secs(n));
        let want = Cooldowns { both: Duration::from_secs(60), scale_out: seconds(7), scale_in: seconds(600) };
        assert_eq!(p.cooldown, want);
        let other = [("role", "web"), (COOLDOWN, "5")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(GroupConfiguration::read(&other.into()), GroupConfiguration::Absent);
    }

    #[test]
    fn problems_name_the_key() {
        let cases: [(&[(&str, &str)], &str); 11] = [
            (&[(ENABLED, "yes")], "replicator_enabled is \"yes\", which is neither true nor false"),
            (&[(MIN, "6")], "replicator_min is 6, which is more than replicator_max, 5"),
            (&[(MIN, "-1")], "replicator_min is -1, but must be at least 0"),
            (&[(MAX, "many")], "replicator_max is \"many\", which is not a whole number"),
            (&[(OUT_CPU, "101")], "replicator_scaleout_cpu is 101, but must be at most 100"),
            (&[(IN_MEMORY, "-1")], "replicator_scalein_mem is -1, but must be at least 0"),
            (&[(IN_CPU, "75")], "replicator_scalein_cpu is 75, but must be less than replicator_scaleout_cpu, 75"),
            (&[(OUT_MEMORY, "40")], "replicator_scalein_mem is 40, but must be less than replicator_scaleout_mem, 40"),
            (&[(RETRIES, "0")], "replicator_retry_threshold is 0, but must be at least 1"),
            (&[(COOLDOWN, "1m")], "replicator_cooldown is \"1m\", which is not a whole number"),
            (
                &[(UID, ""), (OUT_MEMORY, "")],
                "replicator_notification_uid is missing; replicator_scaleout_mem is missing",
            ),
        ];
        for (more, want) in cases {
            let GroupConfiguration::Invalid(problems) = GroupConfiguration::read(&meta(more)) else {
                panic!("{more:?} is valid")
            };
            assert_eq!(problems.join("; "), want, "{more:?}");
        }
    }
}
