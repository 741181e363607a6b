//! Clients: the nodes that run allocations.

mod actions;
mod loss;
mod node;

use encamp_model::responses::NodeListStub;
use encamp_model::{NodeEligibility, NodeStatus};
use maud::{Markup, html};

use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{self, Request};
use crate::parts::state::{Tone, of, state};
use crate::parts::table::Table;
use crate::parts::{form, link};
use crate::visit::Visit;

pub(crate) const ROUTES: Routes = Routes {
    pages: &[("/ui/clients", handler!(list)), ("/ui/clients/{id}", handler!(node::page))],
    actions: &[
        ("/ui/clients/{id}/drain", handler!(actions::drain)),
        ("/ui/clients/{id}/drain/stop", handler!(actions::stop_drain)),
        ("/ui/clients/{id}/eligibility", handler!(actions::eligibility)),
    ],
    streams: &[],
};

/// The states by which the list is filtered, with their conditions.
const STATES: [(&str, &str, &str); 6] = [
    ("ready", "Ready and eligible", r#"Status == "ready" and SchedulingEligibility == "eligible""#),
    ("ineligible", "Ineligible", r#"SchedulingEligibility == "ineligible""#),
    ("draining", "Draining", "DrainStrategy is not nil"),
    ("down", "Down", r#"Status == "down""#),
    ("disconnected", "Disconnected", r#"Status == "disconnected""#),
    ("initializing", "Initializing", r#"Status == "initializing""#),
];

/// `/ui/clients`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let chosen = visit.parameter("state").and_then(|name| STATES.iter().find(|s| s.0 == name));
    let request = Request::new(visit, "/v1/nodes").contains("Name").equals("Datacenter", "datacenter");
    let request = request.equals("NodePool", "pool").equals("NodeClass", "class");
    let request = chosen.into_iter().fold(request, |request, state| request.only(state.2));
    let nodes = request.read::<NodeListStub>().await?;
    let empty = html! { "No clients fit. " a href="/ui/clients" { "Show all" } ", or start an agent with " code { "client { enabled = true }" } "." };
    let mut table =
        Table::new("Clients", &["Name", "State", "Datacenter", "Node pool", "Class", "Address", "Version"], empty);
    for node in &nodes.rows {
        table.row([
            link::client(&node.id, &node.name),
            condition_of(&node.status, &node.scheduling_eligibility, node.drain),
            html! { (node.datacenter) },
            html! { (node.node_pool) },
            html! { (node.node_class) },
            html! { (node.address) },
            html! { (node.version) },
        ]);
    }
    let body = html! { (filters(visit, chosen.map_or("", |s| s.0))) (nodes.markup(visit, &table)) };
    Ok(Page::new(Area::Clients, "Clients", body).follows(["Node:*"]))
}

fn filters(visit: &Visit, chosen: &str) -> Markup {
    let states: Vec<_> =
        [("", "Any")].into_iter().chain(STATES.iter().map(|(name, title, _)| (*name, *title))).collect();
    let value = |name| visit.parameter(name).unwrap_or_default();
    form::filter(
        visit,
        &html! {
            (listing::texts(visit, "Name contains"))
            (form::choice("state", "State", chosen, &states))
            (form::text("datacenter", "Datacenter", value("datacenter"), ""))
            (form::text("pool", "Node pool", value("pool"), ""))
            (form::text("class", "Class", value("class"), ""))
        },
    )
}

/// Whether a node takes work, in a word.
pub(crate) fn condition_of(status: &NodeStatus, eligibility: &NodeEligibility, draining: bool) -> Markup {
    match status {
        NodeStatus::Ready if draining => state(Tone::Pending, "draining"),
        NodeStatus::Ready if *eligibility == NodeEligibility::Ineligible => of(eligibility),
        other => of(other),
    }
}
