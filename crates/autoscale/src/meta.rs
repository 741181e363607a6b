//! Reading values of node and group meta (`docs/spec/cluster-scaling.md §1`).

use std::collections::BTreeMap;

/// Reads keys of one meta block and collects what is wrong with them.
pub(crate) struct Reader<'a> {
    meta: &'a BTreeMap<String, String>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(meta: &'a BTreeMap<String, String>) -> Reader<'a> {
        Reader { meta, problems: Vec::new() }
    }

    /// The value of a key, if it is set.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.meta.get(key).map(String::as_str)
    }

    /// A required text.
    pub(crate) fn required(&mut self, key: &str) -> String {
        match self.text(key) {
            Some(value) if !value.is_empty() => value.to_string(),
            Some(_) => self.wrong(format!("{key} is empty")),
            None => self.wrong(format!("{key} is missing")),
        }
    }

    /// A number of at least `least`; missing: the default, or a problem where there is none.
    pub(crate) fn int(&mut self, key: &str, least: i64, default: Option<i64>) -> i64 {
        self.int_of(&[key], least, default)
    }

    /// The same for a key with aliases; all that are set must agree.
    pub(crate) fn int_of(&mut self, keys: &[&str], least: i64, default: Option<i64>) -> i64 {
        let mut found: Option<(&str, i64)> = None;
        for key in keys {
            let Some(text) = self.text(key) else { continue };
            let value = match int(text) {
                Some(value) if value >= least => value,
                Some(value) => return self.wrong(format!("{key} is {value}, but must be at least {least}")),
                None => return self.wrong(format!("{key} is {text:?}, which is not a whole number")),
            };
            match found {
                Some((other, before)) if before != value => {
                    return self.wrong(format!("{other} is {before}, but its alias {key} is {value}"));
                }
                _ => found = Some((key, value)),
            }
        }
        match (found, default, keys.first()) {
            (Some((_, value)), ..) => value,
            (None, Some(default), _) => default,
            (None, None, key) => self.wrong(format!("{} is missing", key.unwrap_or(&""))),
        }
    }

    /// A required bool.
    pub(crate) fn bool(&mut self, key: &str) -> bool {
        match self.text(key) {
            None => self.wrong(format!("{key} is missing")),
            Some(text) => match bool(text) {
                Some(value) => value,
                None => self.wrong(format!("{key} is {text:?}, which is neither true nor false")),
            },
        }
    }

    /// Notes a problem; the value does not matter then.
    pub(crate) fn wrong<T: Default>(&mut self, problem: String) -> T {
        self.problems.push(problem);
        T::default()
    }

    /// The value that was read, or all problems.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Vec<String>> {
        if self.problems.is_empty() { Ok(value) } else { Err(self.problems) }
    }
}

/// A bool as meta values write it.
pub fn bool(text: &str) -> Option<bool> {
    encamp_model::parse_bool(text)
}

/// A whole number with an optional sign.
pub fn int(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_meta() {
        for (text, want) in [("1", Some(true)), ("TRUE", Some(true)), ("f", Some(false)), ("yes", None), ("", None)] {
            assert_eq!(bool(text), want, "{text:?}");
        }
        let big = "9223372036854775808";
        for (text, want) in
            [("5", Some(5)), ("+5", Some(5)), ("-5", Some(-5)), ("", None), ("+", None), ("5s", None), (big, None)]
        {
            assert_eq!(int(text), want, "{text:?}");
        }
    }
}
