//! Paths: cleaning them, and finding their handlers (`docs/spec/http-api.md §1.2`).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The path without empty, `.` and `..` segments; a slash at the end stays.
pub fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            p => parts.push(p),
        }
    }
    let mut out = String::with_capacity(path.len() + 1);
    parts.iter().for_each(|p| {
        out.push('/');
        out.push_str(p);
    });
    if out.is_empty() || (path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..")) {
        out.push('/');
    }
    out
}

/// The bytes of a path that stand in a URL as escapes; Go's `url.URL` leaves the others.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b':')
    .remove(b'=')
    .remove(b'@')
    .remove(b'!')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// The path as it stands in a URL.
pub fn encode(path: &str) -> String {
    utf8_percent_encode(path, &ESCAPED).to_string()
}

/// The target of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<T> {
    /// A route and the length of its prefix.
    Route(T, usize),
    /// The same path with a slash at its end.
    AddSlash,
    /// Nothing.
    Nothing,
}

/// Finds the route of a clean path: the path itself, else the longest prefix that ends in a slash. No pattern is longer
/// than `longest`: a path of many segments costs no more than others.
pub fn find<T: Copy>(path: &str, longest: usize, lookup: impl Fn(&str) -> Option<T>) -> Target<T> {
    if let Some(t) = lookup(path) {
        return Target::Route(t, path.len());
    }
    let with_slash = format!("{path}/");
    if !path.ends_with('/') && lookup(&with_slash).is_some() {
        return Target::AddSlash;
    }
    let ends = path.match_indices('/').map(|(i, _)| i + 1).take_while(|end| *end <= longest);
    let ends: Vec<usize> = ends.filter(|end| *end > 1).collect();
    for end in ends.into_iter().rev() {
        if let Some(t) = path.get(..end).and_then(&lookup) {
            return Target::Route(t, end);
        }
    }
    Target::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaned() {
        for (path, want) in [
            ("//v1/jobs", "/v1/jobs"),
            ("/v1/jobs/../nodes", "/v1/nodes"),
            ("/v1/./job/a//b/", "/v1/job/a/b/"),
            ("/..", "/"),
            ("/", "/"),
            ("/v1/job/x", "/v1/job/x"),
        ] {
            assert_eq!(clean(path), want);
        }
        assert_eq!(encode("/v1/a b/ü%"), "/v1/a%20b/%C3%BC%25");
        assert_eq!(encode("/-_.~$&+:=@!'()*,;"), "/-_.~$&+:=@!'()*,;");
        assert_eq!(encode("\"#<>?[\\]^`{|}\u{7f}"), "%22%23%3C%3E%3F%5B%5C%5D%5E%60%7B%7C%7D%7F");
    }

    #[test]
    fn the_longest_prefix_wins() {
        let routes = ["/v1/jobs", "/v1/job/", "/v1/jobs/parse", "/v1/node/", "/v1/node/pool/"];
        let asked = std::cell::Cell::new(0);
        let find = |p: &str| {
            find(p, 14, |r| {
                asked.set(asked.get() + 1);
                routes.iter().position(|x| *x == r)
            })
        };
        assert_eq!(find("/v1/jobs"), Target::Route(0, 8));
        assert_eq!(find("/v1/jobs/"), Target::Nothing);
        assert_eq!(find("/v1/jobs/parse"), Target::Route(2, 14));
        assert_eq!(find("/v1/job"), Target::AddSlash);
        assert_eq!(find("/v1/job/"), Target::Route(1, 8));
        assert_eq!(find("/v1/job/a/b/plan"), Target::Route(1, 8));
        assert_eq!(find("/v1/node/pool/x"), Target::Route(4, 14));
        assert_eq!(find("/v1/node/pool"), Target::AddSlash);
        assert_eq!(find("/v1"), Target::Nothing);
        asked.set(0);
        assert_eq!(find(&"/a".repeat(9000)), Target::Nothing);
        assert!(asked.get() < 10, "{}", asked.get());
    }
}
