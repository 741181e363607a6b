//! Paths: cleaning and escaping them (`docs/spec/http-api.md §1.2`).

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
}
