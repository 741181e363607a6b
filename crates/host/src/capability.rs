//! The capability level that this process supports: that of the build, or a lower one that the environment names.

use std::sync::OnceLock;

use encamp_model::capability::CapabilityLevel;

/// The variable that makes a server behave as a build of a lower level, for tests of upgrades.
pub const VARIABLE: &str = "ENCAMP_CAPABILITY_LEVEL";

/// The environment names a level that this build does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{VARIABLE}={0}: this build supports the levels 1 to {build}; set one of them, or unset the variable", build = CapabilityLevel::BUILD)]
pub struct UnsupportedLevel(String);

/// The level that the value of [`VARIABLE`] gives a process.
///
/// # Errors
/// It is no level, or a higher one than that of the build.
fn named(value: Option<&str>) -> Result<CapabilityLevel, UnsupportedLevel> {
    let Some(text) = value else { return Ok(CapabilityLevel::BUILD) };
    let level = text.parse().ok().filter(|level| *level <= CapabilityLevel::BUILD);
    level.ok_or_else(|| UnsupportedLevel(text.into()))
}

/// The level of this process, for the start of an agent.
///
/// # Errors
/// The environment names a level that this build does not support.
pub fn check() -> Result<CapabilityLevel, UnsupportedLevel> {
    named(std::env::var(VARIABLE).ok().as_deref())
}

/// The level of this process.
pub fn own() -> CapabilityLevel {
    static OWN: OnceLock<CapabilityLevel> = OnceLock::new();
    *OWN.get_or_init(|| check().unwrap_or(CapabilityLevel::BUILD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_may_lower_the_level() {
        assert_eq!(named(None), Ok(CapabilityLevel::BUILD));
        assert_eq!(named(Some("1")), Ok(CapabilityLevel::FIRST));
        for bad in ["0", "99", "x", ""] {
            let refused = named(Some(bad)).expect_err("refused").to_string();
            assert!(refused.contains("supports the levels 1 to 2"), "{refused}");
        }
    }
}
