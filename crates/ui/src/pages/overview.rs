//! The overview: what needs attention first, then how the cluster is.

use encamp_model::responses::{JobListStub, NodeListStub};
use maud::html;

use super::routes::{Routes, handler, stream};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::live;
use crate::parts::table::facts;
use crate::visit::Visit;

pub(crate) const ROUTES: Routes =
    Routes { pages: &[("/ui/", handler!(overview))], actions: &[], streams: &[("/ui/live", stream!(live::events))] };

/// `/ui/`
pub(crate) async fn overview(visit: &Visit) -> Result<Page, PageError> {
    let query = [("namespace", visit.namespace())];
    let jobs: Vec<JobListStub> = visit.read("/v1/jobs", &query).await?;
    let nodes: Vec<NodeListStub> = visit.read("/v1/nodes", &[]).await?;
    let body = html! {
        (facts(&[("Jobs", html! { (jobs.len()) }), ("Clients", html! { (nodes.len()) })]))
    };
    Ok(Page::new(Area::Overview, "Overview", body).follows(["Job:*", "Node:*", "Allocation:*", "Deployment:*"]))
}
