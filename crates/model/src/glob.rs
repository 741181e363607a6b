//! Patterns with `*` as their only wildcard: datacenters of jobs, labels of rules of access control, variables, labels
//! and devices in the configuration of nodes.

/// Whether a pattern matches a text: `*` stands for any characters, everything else for itself. The empty pattern matches
/// only the empty text. Takes time in proportion to the length of the text, whatever the pattern.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (pattern, text, want) in [
            ("dc1", "dc1", true),
            ("dc1", "dc12", false),
            ("dc*", "dc12", true),
            ("*", "", true),
            ("*", "a/b", true),
            ("", "", true),
            ("", "a", false),
            ("eu-*-1", "eu-west-1", true),
            ("eu-*-1", "eu-1", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "axxcyyb", false),
            ("A*B*C", "AxxC", false),
            ("*a", "ba", true),
            ("*ab", "aab", true),
            ("a*", "a", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("ab*ba", "aba", false),
            ("*b*", "abc", true),
            ("**", "x", true),
            ("apps-*", "apps", false),
            ("*_LICENSE", "X_LICENSE", true),
            ("*_LICENSE", "X_LICENSES", false),
            ("a", "ab", false),
            ("DC*", "dc1", false),
            ("ä*ß", "ä€ß", true),
        ] {
            assert_eq!(matches(pattern, text), want, "{pattern} against {text}");
        }
    }

    #[test]
    fn long_patterns_take_no_long_time() {
        let pattern = "a*".repeat(100) + "c";
        assert!(!matches(&pattern, &"ab".repeat(50_000)));
    }
}
