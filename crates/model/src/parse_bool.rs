//! Truth values in texts, as Go's `strconv.ParseBool` reads them.

/// The value of `1`, `t`, `T`, `true`, `TRUE`, `True` and their opposites; none for any other text.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse_bool;

    #[test]
    fn truth_values() {
        for (text, want) in [
            ("1", Some(true)),
            ("TRUE", Some(true)),
            ("f", Some(false)),
            ("False", Some(false)),
            ("tRUE", None),
            ("yes", None),
            ("", None),
        ] {
            assert_eq!(parse_bool(text), want, "{text:?}");
        }
    }
}
