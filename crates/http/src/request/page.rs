//! Pagination of lists (`docs/spec/http-api.md §4.5`).

use std::cmp::Ordering;

use super::filter::{Filter, MatchError};
use super::read_options::ReadOptions;
use crate::error::Error;

/// How rows are ordered, and so what a token means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Tokens are texts.
    Text,
    /// Tokens are `<index>.<id>`: the index is a number.
    Indexed,
    /// Tokens are numbers.
    Number,
}

impl Order {
    fn compare(self, a: &str, b: &str) -> Ordering {
        let numbers = |a: &str, b: &str| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?));
        match self {
            Order::Text => a.cmp(b),
            Order::Number => numbers(a, b).map_or_else(|| a.cmp(b), |(a, b)| a.cmp(&b)),
            Order::Indexed => {
                let split = |t: &'_ str| t.split_once('.').map(|(i, id)| (i.to_string(), id.to_string()));
                let parts = split(a).zip(split(b)).and_then(|(a, b)| Some((numbers(&a.0, &b.0)?, a.1, b.1)));
                match parts {
                    Some(((i, j), a, b)) => i.cmp(&j).then_with(|| a.cmp(&b)),
                    None => a.cmp(b),
                }
            }
        }
    }
}

/// Cuts lists into pages and filters them.
#[derive(Debug)]
pub(crate) struct Pager {
    filter: Option<Filter>,
    next_token: String,
    per_page: i32,
    reverse: bool,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page<T> {
    /// Its rows.
    pub rows: Vec<T>,
    /// The token of the next one.
    pub next: Option<String>,
}

impl Pager {
    /// As the request asks.
    ///
    /// # Errors
    /// 400: the filter is no expression.
    pub(crate) fn new(options: &ReadOptions) -> Result<Pager, Error> {
        let filter = match options.filter.as_str() {
            "" => None,
            text => Some(Filter::parse(text).map_err(|e| {
                Error::bad(format!("failed to create result paginator: failed to read filter expression: {e}"))
            })?),
        };
        let next_token = options.next_token.clone();
        Ok(Pager { filter, next_token, per_page: options.per_page, reverse: options.reverse })
    }

    /// The other direction.
    pub(crate) fn reversed(mut self) -> Pager {
        self.reverse = !self.reverse;
        self
    }

    /// The page of `rows`, which come in ascending order. `token` names a row, `matches` has a filter judge it, `keep`
    /// says whether it may be shown.
    ///
    /// # Errors
    /// 400: the filter can't be applied to a row.
    pub(crate) fn page<T, I>(
        &self,
        order: Order,
        rows: I,
        token: impl Fn(&T) -> String,
        matches: impl Fn(&Filter, &T) -> Result<bool, MatchError>,
        keep: impl Fn(&T) -> bool,
    ) -> Result<Page<T>, Error>
    where
        I: IntoIterator<Item = T>,
    {
        let mut all: Vec<T> = rows.into_iter().collect();
        if self.reverse {
            all.reverse();
        }
        let limit = match self.per_page {
            0 => usize::MAX,
            n => usize::try_from(n).unwrap_or(0),
        };
        let skipped = if self.reverse { Ordering::Greater } else { Ordering::Less };
        let mut page = Page { rows: Vec::new(), next: None };
        for row in all {
            if !self.next_token.is_empty() && order.compare(&token(&row), &self.next_token) == skipped {
                continue;
            }
            if let Some(f) = &self.filter
                && !matches(f, &row).map_err(|e| Error::bad(format!("failed to read result page: {e}")))?
            {
                continue;
            }
            if !keep(&row) {
                continue;
            }
            if page.rows.len() >= limit {
                page.next = Some(token(&row));
                break;
            }
            page.rows.push(row);
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(query: &str) -> (Vec<String>, Option<String>) {
        let options = ReadOptions::parse(&crate::request::params::Query::parse(query), "global").expect("options");
        let rows = ["page-0", "page-1", "page-2", "page-3"].map(String::from);
        let matches = |f: &Filter, id: &String| f.matches("Job", &serde_json::json!({"ID": id}));
        let page = Pager::new(&options).expect("a pager");
        let page = page.page(Order::Text, rows, |id| format!("default.{id}"), matches, |_| true).expect("a page");
        (page.rows, page.next)
    }

    #[test]
    fn worked_examples() {
        for (query, rows, next) in [
            ("per_page=2", "page-0 page-1", Some("default.page-2")),
            ("per_page=2&next_token=default.page-2", "page-2 page-3", None),
            ("per_page=2&next_token=default.page-15", "page-2 page-3", None),
            ("next_token=default.zzz", "", None),
            ("reverse=true&per_page=2", "page-3 page-2", Some("default.page-1")),
            ("reverse=true&per_page=2&next_token=default.page-1", "page-1 page-0", None),
            ("reverse=1&per_page=2", "page-0 page-1", Some("default.page-2")),
            ("per_page=1&filter=ID%20matches%20%22page-[13]%22", "page-1", Some("default.page-3")),
            ("per_page=0", "page-0 page-1 page-2 page-3", None),
            ("per_page=-1", "", Some("default.page-0")),
        ] {
            assert_eq!(
                ask(query),
                (rows.split_whitespace().map(String::from).collect(), next.map(String::from)),
                "{query}"
            );
        }
    }

    #[test]
    fn orders() {
        assert_eq!(Order::Indexed.compare("45.63bb", "102.0"), Ordering::Less);
        assert_eq!(Order::Indexed.compare("45.a", "45.b"), Ordering::Less);
        assert_eq!(Order::Indexed.compare("x", "45.b"), Ordering::Greater);
        assert_eq!(
            (Order::Number.compare("9", "10"), Order::Text.compare("9", "10")),
            (Ordering::Less, Ordering::Greater)
        );
    }
}
