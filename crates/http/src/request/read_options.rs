//! The parameters that all reads know (`docs/spec/http-api.md §4.1`).

use std::time::Duration;

use super::params::{Query, decimal_int, decimal_uint, parse_bool};
use crate::error::Error;
use encamp_model::duration::parse_duration;

/// The longest time a read waits.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// The parameters that all reads know (`docs/spec/http-api.md §4.1`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// `namespace`, `default` if it is not given; `*` for all.
    pub namespace: String,
    /// `prefix`.
    pub prefix: String,
    /// `stale`: no leader is needed.
    pub stale: bool,
    /// `per_page`; 0: all rows.
    pub per_page: i32,
    /// `next_token`.
    pub next_token: String,
    /// `filter`.
    pub filter: String,
    /// `reverse`.
    pub reverse: bool,
    /// `wait`, at most five minutes.
    pub wait: Duration,
    /// `index`: wait until there is something newer.
    pub index: u64,
}

impl ReadOptions {
    /// Reads the parameters in their order of checks.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn parse(query: &Query, own_region: &str) -> Result<ReadOptions, Error> {
        known_region(query.get("region"), own_region)?;
        let stale = match (query.has("stale"), query.get("stale")) {
            (false, _) => false,
            (true, "") => true,
            (true, text) => parse_bool(text)
                .map_err(|_| Error::bad("Expect `true` or `false` for `stale` query string parameter"))?,
        };
        let per_page = match query.get("per_page") {
            "" => 0,
            text => decimal_int(text)
                .ok()
                .and_then(|n| i32::try_from(n).ok())
                .ok_or_else(|| Error::bad("Expect a number for `per_page` query string parameter"))?,
        };
        let wait = match query.get("wait") {
            "" => 0,
            text => parse_duration(text).map_err(|_| Error::bad("Invalid wait time"))?,
        };
        let wait = u64::try_from(wait).ok().filter(|w| *w > 0).map_or(MAX_WAIT, Duration::from_nanos);
        let index = match query.get("index") {
            "" => 0,
            text => decimal_uint(text).map_err(|_| Error::bad("Invalid index"))?,
        };
        Ok(ReadOptions {
            namespace: namespace_of(query),
            prefix: query.get("prefix").into(),
            stale,
            per_page,
            next_token: query.get("next_token").into(),
            filter: query.get("filter").into(),
            reverse: query.get("reverse") == "true",
            wait: wait.min(MAX_WAIT),
            index,
        })
    }

    /// Whether the namespace is `*`.
    pub(crate) fn all_namespaces(&self) -> bool {
        self.namespace == "*"
    }

    /// Whether rows of a namespace are asked for.
    pub fn in_namespace(&self, namespace: &str) -> bool {
        self.all_namespaces() || self.namespace == namespace
    }
}

/// The namespace of a query, `default` if it names none.
pub(crate) fn namespace_of(query: &Query) -> String {
    match query.get("namespace") {
        "" => "default".into(),
        name => name.into(),
    }
}

/// The region is our own, or none is named.
///
/// # Errors
/// 500 `No path to region`.
pub(crate) fn known_region(asked: &str, own: &str) -> Result<(), Error> {
    if asked.is_empty() || asked == own { Ok(()) } else { Err(Error::internal("No path to region")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_parameter_answers() {
        let parse = |q: &str| ReadOptions::parse(&Query::parse(q), "global").map_err(|e| (e.status, e.message));
        let stale = "Expect `true` or `false` for `stale` query string parameter";
        let number = "Expect a number for `per_page` query string parameter";
        for (query, status, text) in [
            ("stale=maybe&index=abc", 400, stale),
            ("wait=xyz&index=1", 400, "Invalid wait time"),
            ("wait=10", 400, "Invalid wait time"),
            ("index=abc", 400, "Invalid index"),
            ("index=-1", 400, "Invalid index"),
            ("per_page=x", 400, number),
            ("per_page=9999999999", 400, number),
            ("region=nowhere", 500, "No path to region"),
        ] {
            assert_eq!(parse(query), Err((status, text.into())), "{query}");
        }
        let o = parse("stale&region=global&namespace=*&wait=90s&index=7&reverse=true&consistent").unwrap();
        assert!(o.stale && o.reverse && o.all_namespaces());
        assert_eq!((o.wait, o.index), (Duration::from_secs(90), 7));
        assert_eq!(parse("wait=10m").unwrap().wait, MAX_WAIT);
        assert_eq!(parse("wait=-1s").unwrap().wait, MAX_WAIT);
        assert_eq!(parse("").unwrap().namespace, "default");
    }
}
