//! The page of the web UI about what a command shows: opened with `-ui`, and named in a hint (`docs/spec/cli.md §4.7`).

use super::super::connection::Connection;
use super::super::context::Context;
use super::open;
use encamp_api::path;

/// The namespace of objects whose namespace is not given.
const DEFAULT: &str = "default";

/// A page of the web UI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UiPage {
    /// What a reader does there: `View this job`.
    description: &'static str,
    /// Its path below the address of the agent.
    path: String,
}

impl UiPage {
    fn new(description: &'static str, path: impl Into<String>) -> UiPage {
        UiPage { description, path: path.into() }
    }

    /// The jobs.
    pub(crate) fn jobs() -> UiPage {
        UiPage::new("View and manage Nomad jobs", "/ui/jobs")
    }

    /// A job that a command registered or dispatched.
    pub(crate) fn new_job(namespace: Option<&str>, id: &str) -> UiPage {
        UiPage::new("View this job", job(namespace, id, ""))
    }

    /// A job that a command shows.
    pub(crate) fn job(namespace: Option<&str>, id: &str) -> UiPage {
        UiPage::new("View job details and metrics", job(namespace, id, ""))
    }

    /// The deployments of a job.
    pub(crate) fn deployments(namespace: &str, id: &str) -> UiPage {
        UiPage::new("View all deployments for this job", job(Some(namespace), id, "/deployments"))
    }

    /// An allocation.
    pub(crate) fn allocation(id: &str) -> UiPage {
        UiPage::new("View allocation details", path("/ui/allocations/", id, ""))
    }

    /// The nodes.
    pub(crate) fn nodes() -> UiPage {
        UiPage::new("View and manage Nomad clients", "/ui/clients")
    }

    /// A node.
    pub(crate) fn node(id: &str) -> UiPage {
        UiPage::new("View client details and metrics", path("/ui/clients/", id, ""))
    }

    /// The evaluations.
    pub(crate) fn evaluations() -> UiPage {
        UiPage::new("View evaluations", "/ui/evaluations")
    }

    /// An evaluation.
    pub(crate) fn evaluation(id: &str) -> UiPage {
        UiPage::new("View evaluation details", path("/ui/evaluations?currentEval=", id, ""))
    }

    /// The servers.
    pub(crate) fn servers() -> UiPage {
        UiPage::new("View and manage Nomad servers", "/ui/servers")
    }

    /// The variables, or those below a path.
    pub(crate) fn variables(prefix: &str) -> UiPage {
        match prefix {
            "" => UiPage::new("View Nomad variables", "/ui/variables"),
            _ => UiPage::new("View Nomad variables at this path", path("/ui/variables/path/", prefix, "")),
        }
    }

    /// A variable.
    pub(crate) fn variable(namespace: &str, name: &str) -> UiPage {
        UiPage::new("View variable details", path("/ui/variables/var/", name, &at(Some(namespace))))
    }

    /// Prints the hint, if hints are wanted, and opens the page, if `opens`.
    pub(crate) fn show(&self, connection: &Connection, opens: bool, context: &mut Context<'_, '_>) {
        let hints = matches!(context.env.var("NOMAD_CLI_SHOW_HINTS"), Some("true" | "TRUE" | "True" | "t" | "T" | "1"));
        if !hints && !opens {
            return;
        }
        let url = format!("{}{}", connection.client.address().trim_end_matches('/'), self.path);
        // An agent that does not answer has no pages either.
        if hints && connection.wait(connection.client.agent_self()).is_ok() {
            context.ui.warn(&format!("\n\n==> {} in the Web UI: {url}", self.description));
        }
        if opens && let Err(e) = open(&url) {
            context.ui.warn(&format!("Failed to open browser: {e}"));
        }
    }
}

/// How addresses name a namespace: `@default`.
fn at(namespace: Option<&str>) -> String {
    format!("@{}", namespace.filter(|n| !n.is_empty()).unwrap_or(DEFAULT))
}

fn job(namespace: Option<&str>, id: &str, below: &str) -> String {
    path("/ui/jobs/", id, &format!("{}{below}", at(namespace)))
}
