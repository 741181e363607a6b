//! Flags that are true, false, or not given (`docs/spec/cli.md §2.3`).

use super::flags::InvalidFlag;
use encamp_model::parse_bool;
use encamp_model::quoted;

/// The value of such a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tristate(Option<bool>);

impl Tristate {
    /// Reads the value of a flag; an error as flags have it.
    pub fn read(flag: &str, value: &Option<String>) -> Result<Tristate, InvalidFlag> {
        let Some(text) = value else { return Ok(Tristate(None)) };
        let wrong = || {
            let text = quoted(text);
            InvalidFlag::new(format_args!(
                "invalid value {text} for flag -{flag}: strconv.ParseBool: parsing {text}: invalid syntax"
            ))
        };
        parse_bool(text).ok_or_else(wrong).map(|value| Tristate(Some(value)))
    }

    /// Changes a setting if the flag was given.
    pub fn merge(self, setting: &mut bool) {
        *setting = self.0.unwrap_or(*setting);
    }

    /// The value, if the flag was given.
    pub fn given(self) -> Option<bool> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_given_changes() {
        let read = |value: Option<&str>| Tristate::read("x", &value.map(String::from));
        let mut setting = true;
        read(None).unwrap().merge(&mut setting);
        assert!(setting);
        read(Some("F")).unwrap().merge(&mut setting);
        assert!(!setting);
        assert_eq!(
            read(Some("perhaps")).unwrap_err().to_string(),
            "invalid value \"perhaps\" for flag -x: strconv.ParseBool: parsing \"perhaps\": invalid syntax"
        );
    }
}
