//! Limits of provider calls (`docs/spec/cluster-scaling.md §9`).

use std::time::Duration;

use super::{ProviderError, ScalingGroup};

/// How long a call may take unless something else is configured.
pub const CALL: Duration = Duration::from_secs(30);
/// The longest answer that is read, bytes.
pub const ANSWER: usize = 8 << 20;
/// The most characters of a provider's own message that are passed on.
const MESSAGE: usize = 300;
/// The longest ID of an instance, bytes.
const ID: usize = 256;

/// The first line of a message that is not empty: bounded, with control characters escaped.
pub(super) fn message(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().map(str::trim).find(|l| !l.is_empty()).unwrap_or_default();
    let mut out = String::new();
    for (n, c) in line.chars().enumerate() {
        if n == MESSAGE {
            out.push_str("...");
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// The call took longer than `limit`.
pub(super) fn timeout(limit: Duration) -> ProviderError {
    // A limit below a second, as in tests, counts as one.
    ProviderError::Timeout(limit.as_secs().max(1))
}

/// The answer is longer than [`ANSWER`].
pub(super) fn too_long() -> ProviderError {
    ProviderError::Invalid(format!("it is longer than {} MiB", ANSWER >> 20))
}

/// A group as a provider described it, if it makes sense.
///
/// # Errors
/// Negative sizes, crossed bounds, and IDs of instances that are empty, too long, unprintable or not unique.
pub(super) fn checked(group: ScalingGroup) -> Result<ScalingGroup, ProviderError> {
    let wrong = |problem: String| Err(ProviderError::Invalid(problem));
    for (name, size) in [("desired", group.desired), ("min", group.min), ("max", group.max)] {
        if size < 0 {
            return wrong(format!("the {name} size is {size}"));
        }
    }
    if group.min > group.max {
        return wrong(format!("the min size, {}, is more than the max size, {}", group.min, group.max));
    }
    let mut ids: Vec<&str> = group.instances.iter().map(|i| i.id.as_str()).collect();
    ids.sort_unstable();
    if let Some(id) = ids.iter().find(|id| id.is_empty() || id.len() > ID || id.chars().any(char::is_control)) {
        return wrong(format!("{:?} is not an instance ID", message(id.as_bytes())));
    }
    match ids.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => wrong(format!("the instance {} is listed twice", pair[0])),
        None => Ok(group),
    }
}

/// The settings that do not fit the group.
///
/// # Errors
/// `desired` is outside of the group's bounds.
#[cfg(target_os = "linux")]
pub(super) fn within_bounds(group: &ScalingGroup, desired: i64) -> Result<(), ProviderError> {
    if (group.min..=group.max).contains(&desired) {
        return Ok(());
    }
    let (min, max) = (group.min, group.max);
    Err(ProviderError::Failed(format!("a desired size of {desired} is not within {min} and {max}")))
}

/// The instance is not one of the group.
#[cfg(target_os = "linux")]
pub(super) fn no_instance(pool: &str, instance: &str) -> ProviderError {
    ProviderError::Failed(format!("{} is not an instance of the scaling group {pool}", message(instance.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::super::{Instance, InstanceState};
    use super::*;

    #[test]
    fn messages_are_one_short_line() {
        assert_eq!(message(b"\n \n  no\x1b[31m \xff such\tgroup\r\nmore"), "no\\u{1b}[31m \u{fffd} such\\tgroup");
        assert_eq!(message(b""), "");
        assert_eq!(message("ä".repeat(1000).as_bytes()), format!("{}...", "ä".repeat(300)));
    }

    #[test]
    fn groups_that_make_no_sense() {
        let group = |desired, min, max, ids: &[&str]| {
            let instance = |id: &&str| Instance { id: id.to_string(), state: InstanceState::Active };
            let checked = checked(ScalingGroup { desired, min, max, instances: ids.iter().map(instance).collect() });
            checked.map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(group(2, 0, 3, &["a", "b"]), Ok(()));
        let wrong = |problem: &str| Err(format!("the provider's answer is invalid: {problem}"));
        assert_eq!(group(-1, 0, 3, &[]), wrong("the desired size is -1"));
        assert_eq!(group(1, 3, 2, &[]), wrong("the min size, 3, is more than the max size, 2"));
        assert_eq!(group(1, 0, 2, &["a", "b", "a"]), wrong("the instance a is listed twice"));
        assert_eq!(group(1, 0, 2, &["a\n"]), wrong("\"a\" is not an instance ID"));
        assert_eq!(group(1, 0, 2, &[""]), wrong("\"\" is not an instance ID"));
    }
}
