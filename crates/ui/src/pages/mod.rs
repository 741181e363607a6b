//! The pages, by area. Each is an `async fn(&Visit, …) -> Result<Page, PageError>`; an action is an
//! `async fn(&Visit, …) -> Result<Done, PageError>`.

mod access;
mod allocations;
mod clients;
mod data;
mod deployments;
mod evaluations;
mod jobs;
mod namespaces;
pub(crate) mod oidc;
pub(crate) mod overview;
pub(crate) mod plan;
pub(crate) mod questions;
pub(crate) mod routes;
mod search;
mod servers;
mod services;
pub(crate) mod sign_in;
mod storage;
mod topology;
mod variables;

use routes::{QuestionHandler, Routes};

/// The routes of all areas.
pub(crate) const AREAS: &[Routes] = &[
    overview::ROUTES,
    plan::ROUTES,
    questions::ROUTES,
    clients::ROUTES,
    servers::ROUTES,
    services::ROUTES,
    storage::ROUTES,
    namespaces::ROUTES,
    access::ROUTES,
    oidc::ROUTES,
    topology::ROUTES,
    variables::ROUTES,
    search::ROUTES,
    jobs::ROUTES,
    allocations::ROUTES,
    deployments::ROUTES,
    evaluations::ROUTES,
    sign_in::ROUTES,
];

/// Forms that ask something, in all areas.
pub(crate) const QUESTIONS: &[(&str, QuestionHandler)] = plan::QUESTIONS;

/// What follows an action: the page that the browser goes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    /// The address of the page.
    pub to: String,
    /// What the page says first.
    pub message: String,
}

impl Done {
    /// An action that was carried out.
    pub(crate) fn new(to: impl Into<String>, message: impl Into<String>) -> Done {
        Done { to: to.into(), message: message.into() }
    }
}
