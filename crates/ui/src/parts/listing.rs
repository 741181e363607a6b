//! One page of a list of the API, with its filters: parameters of the address that become a filter expression.

use axum::http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::form;
use super::state::{Tone, notice};
use super::table::{PER_PAGE, Table, pages};
use crate::error::PageError;
use crate::visit::Visit;

/// One page of a list.
pub(crate) struct Listing<T> {
    /// Its rows.
    pub rows: Vec<T>,
    /// Where the next page begins.
    pub next: Option<String>,
    /// Why there is no list: what the cluster says about the filter, or that the token may not see it.
    problem: Option<String>,
}

/// A list to be read.
pub(crate) struct Request<'a> {
    visit: &'a Visit,
    path: &'a str,
    query: Vec<(&'a str, &'a str)>,
    filters: Vec<String>,
    per_page: usize,
}

impl<'a> Request<'a> {
    /// A list of the page's namespace.
    pub(crate) fn new(visit: &'a Visit, path: &'a str) -> Request<'a> {
        Request { visit, path, query: vec![("namespace", visit.namespace())], filters: Vec::new(), per_page: PER_PAGE }
    }

    /// A list of another namespace.
    pub(crate) fn in_namespace(mut self, namespace: &'a str) -> Request<'a> {
        self.query.retain(|(name, _)| *name != "namespace");
        self.with("namespace", namespace)
    }

    /// With a parameter.
    pub(crate) fn with(mut self, name: &'a str, value: &'a str) -> Request<'a> {
        self.query.push((name, value));
        self
    }

    /// With a condition that rows have to meet.
    pub(crate) fn only(mut self, condition: impl Into<String>) -> Request<'a> {
        self.filters.push(condition.into());
        self
    }

    /// With the condition that a field equals a parameter of the address, if it is given.
    pub(crate) fn equals(self, field: &str, parameter: &str) -> Request<'a> {
        match self.visit.parameter(parameter) {
            Some(value) => self.only(format!("{field} == {}", quoted(value))),
            None => self,
        }
    }

    /// With the condition that a field contains the parameter `q` of the address, if it is given.
    pub(crate) fn contains(self, field: &str) -> Request<'a> {
        match self.visit.parameter("q") {
            Some(value) => self.only(format!("{field} contains {}", quoted(value))),
            None => self,
        }
    }

    /// With at most so many rows.
    pub(crate) fn at_most(mut self, rows: usize) -> Request<'a> {
        self.per_page = rows;
        self
    }

    /// Reads the page of the list that the address names.
    ///
    /// # Errors
    /// As [`Visit::read`]; a filter of the address that the cluster does not understand is none.
    pub(crate) async fn read<T: DeserializeOwned>(self) -> Result<Listing<T>, PageError> {
        let typed = self.visit.parameter("filter");
        let conditions = self.filters.iter().map(String::as_str).chain(typed);
        let filter = conditions.map(|c| format!("({c})")).collect::<Vec<_>>().join(" and ");
        let per_page = self.per_page.to_string();
        let mut query = self.query;
        query.push(("per_page", &per_page));
        if !filter.is_empty() {
            query.push(("filter", &filter));
        }
        if let Some(token) = self.visit.parameter("next_token") {
            query.push(("next_token", token));
        }
        match self.visit.read_page(self.path, &query).await {
            Ok((rows, meta)) => Ok(Listing { rows, next: meta.next_token, problem: None }),
            Err(PageError::Api { status, text })
                if typed.is_some() && matches!(status, StatusCode::BAD_REQUEST | StatusCode::INTERNAL_SERVER_ERROR) =>
            {
                Ok(Listing { rows: Vec::new(), next: None, problem: Some(text) })
            }
            Err(e) => Err(e),
        }
    }
}

impl<T> Listing<T> {
    /// A list that the token may not see.
    pub(crate) fn denied() -> Listing<T> {
        Listing { rows: Vec::new(), next: None, problem: Some("Your token may not see this list.".into()) }
    }

    /// Whether the list could be read.
    pub(crate) fn is_known(&self) -> bool {
        self.problem.is_none()
    }

    /// What the page shows of the list: the problem of its filter, or the table and the links to other pages.
    pub(crate) fn markup(&self, visit: &Visit, table: &Table) -> Markup {
        html! {
            @if let Some(problem) = &self.problem { (notice(Tone::Bad, &html! { (problem) })) }
            @else { (table.markup()) (pages(visit, self.next.as_deref())) }
        }
    }

    /// How many rows there are, with a plus sign if there are more; `-` if that is not known.
    pub(crate) fn count(&self) -> String {
        if !self.is_known() {
            return "-".into();
        }
        format!("{}{}", self.rows.len(), if self.next.is_some() { "+" } else { "" })
    }
}

/// A text in a filter expression, whose escapes include those of JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Namespace {
    name: String,
}

/// The choice of a namespace for a filter; nothing if the token may see no namespaces.
pub(crate) async fn namespaces(visit: &Visit) -> Markup {
    let found: Vec<Namespace> = visit.read("/v1/namespaces", &[]).await.unwrap_or_default();
    let names = found.iter().map(|n| (n.name.as_str(), n.name.as_str()));
    let options: Vec<_> = [("*", "all")].into_iter().chain(names).collect();
    html! { @if found.len() > 1 { (form::choice("namespace", "Namespace", visit.namespace(), &options)) } }
}

/// The fields of a filter by text and by expression.
pub(crate) fn texts(visit: &Visit, label: &str) -> Markup {
    html! {
        (form::text("q", label, visit.parameter("q").unwrap_or_default(), ""))
        (form::text("filter", "Filter expression", visit.parameter("filter").unwrap_or_default(), "Priority > 50"))
    }
}

/// The choice of one of some words for a filter.
pub(crate) fn words(visit: &Visit, name: &str, label: &str, words: &[&str]) -> Markup {
    let options: Vec<_> = [("", "all")].into_iter().chain(words.iter().map(|w| (*w, *w))).collect();
    form::choice(name, label, visit.parameter(name).unwrap_or_default(), &options)
}
