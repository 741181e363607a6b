//! Matches the part of a path behind a prefix: `{*id}/plan` below `/v1/job/`.
//!
//! A router of path segments, as the prefixes use (`matchit`), cannot match these: the IDs of jobs, the names of pools
//! and the paths of variables may hold slashes, escaped or not, and what follows an ID is found at the end of the path
//! (`docs/spec/http-api.md §1.2`). A job whose ID ends in `/plan` cannot be addressed.
//!
//! - `{name}` stands for one segment, which may be empty.
//! - `{*name}` stands for any text, slashes included. There is at most one, and nothing but a literal follows it.
//! - Anything else stands for itself.

/// The values of the parameters of a pattern, if it matches.
pub(crate) fn parameters<'p>(pattern: &str, rest: &'p str) -> Option<Vec<&'p str>> {
    let (mut pattern, mut rest, mut found) = (pattern, rest, Vec::new());
    while let Some((literal, parameter)) = pattern.split_once('{') {
        rest = rest.strip_prefix(literal)?;
        let (name, after) = parameter.split_once('}')?;
        if name.starts_with('*') {
            found.push(rest.strip_suffix(after)?);
            return Some(found);
        }
        let (value, behind) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        found.push(value);
        (pattern, rest) = (after, behind);
    }
    (pattern == rest).then_some(found)
}

/// The names of the parameters of a pattern, in order.
pub(crate) fn names(pattern: &str) -> impl Iterator<Item = &str> {
    let parts = pattern.split('{').skip(1).filter_map(|part| part.split_once('}'));
    parts.map(|(name, _)| name.trim_start_matches('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_names() {
        for (pattern, want) in [("", &[][..]), ("{*id}/plan", &["id"]), ("{id}/versions/{name}/tag", &["id", "name"])] {
            assert_eq!(names(pattern).collect::<Vec<_>>(), want, "{pattern}");
        }
    }

    #[test]
    fn parameters_are_segments_or_any_text() {
        for (pattern, rest, want) in [
            ("", "", Some(vec![])),
            ("", "a", None),
            ("list", "list", Some(vec![])),
            ("{id}", "a", Some(vec!["a"])),
            ("{id}", "", Some(vec![""])),
            ("{id}", "a/", None),
            ("{id}/stop", "a/stop", Some(vec!["a"])),
            ("{id}/stop", "a/b/stop", None),
            ("{id}/versions/{name}/tag", "a/versions/x/tag", Some(vec!["a", "x"])),
            ("{id}/versions/{name}/tag", "a/b/versions/x/tag", None),
            ("{*id}", "", Some(vec![""])),
            ("{*id}", "a/b/", Some(vec!["a/b/"])),
            ("{*id}/plan", "a/b/plan", Some(vec!["a/b"])),
            ("{*id}/plan", "plan", None),
            ("{*id}/plan", "a/plan/plan", Some(vec!["a/plan"])),
            ("ls/{*id}", "ls/a/b", Some(vec!["a/b"])),
            ("ls/{*id}", "ls", None),
        ] {
            assert_eq!(parameters(pattern, rest), want, "{pattern} {rest}");
        }
    }
}
