//! The topology: all nodes in one picture, with what is used of them, and the same as tables.

use std::collections::{BTreeMap, HashMap};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, header};
use maud::{Markup, html};

use super::clients::condition_of;
use super::routes::{Routes, handler, stream};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::meter::percent;
use crate::parts::table::{PER_PAGE, Table, pages};
use crate::parts::topology::{COLOURS, Cell, Condition, Drawing, Fill, Piece, pieces};
use crate::parts::usage::{self, AllocationRow, Amount, NodeUse};
use crate::parts::{form, link, meter};
use crate::visit::{Visit, with_query};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[("/ui/topology", handler!(page))],
    actions: &[],
    streams: &[("/ui/topology/allocations", stream!(allocations))],
};

/// The most allocations that the page itself draws; of more, the script draws those of nodes that are enlarged.
const MAX_PIECES: usize = 2000;
/// The most nodes whose allocations are read at once.
const MAX_NODES: usize = 64;
/// The longest value that the address for the script repeats.
const MAX_VALUE: usize = 200;

/// What the colours say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    /// How much is used: of CPU or memory, whichever is more.
    Use,
    Cpu,
    Memory,
    /// The job with the most memory.
    Job,
    /// The version of the selected job; without one, of the agent of the node.
    Version,
}

const COLOUR_NAMES: [(&str, &str, Colour); 5] = [
    ("use", "CPU or memory, the fuller one", Colour::Use),
    ("cpu", "CPU", Colour::Cpu),
    ("memory", "Memory", Colour::Memory),
    ("job", "Job", Colour::Job),
    ("version", "Version", Colour::Version),
];
const GROUP_NAMES: [(&str, &str); 4] =
    [("datacenter", "Datacenter"), ("pool", "Node pool"), ("class", "Node class"), ("none", "Nothing")];

/// What the address asks for.
#[derive(Debug, Clone)]
struct Look<'a> {
    group: &'a str,
    colour: Colour,
    /// The namespace and the ID of the selected job.
    job: Option<(&'a str, &'a str)>,
    /// The only group that is shown.
    only: Option<&'a str>,
}

impl<'a> Look<'a> {
    fn of(visit: &'a Visit) -> Look<'a> {
        let colour = visit.parameter("colour").and_then(|name| COLOUR_NAMES.iter().find(|c| c.0 == name));
        let group = visit.parameter("group").filter(|name| GROUP_NAMES.iter().any(|g| g.0 == *name));
        let job = visit.parameter("job").map(link::split).map(|(id, namespace)| (namespace, id));
        Look {
            group: group.unwrap_or("datacenter"),
            colour: colour.map_or(Colour::Use, |c| c.2),
            job,
            only: visit.parameter("only"),
        }
    }

    fn group_of<'n>(&self, node: &'n NodeUse) -> &'n str {
        let group = match self.group {
            "pool" => &node.row.node_pool,
            "class" => &node.row.node_class,
            "none" => return "all nodes",
            _ => &node.row.datacenter,
        };
        if group.is_empty() { "(none)" } else { group }
    }

    fn has(&self, row: &AllocationRow) -> bool {
        self.job.is_some_and(|(namespace, id)| row.job_id == id && row.namespace == namespace)
    }

    /// The value that decides the colour of an allocation, where colours are values.
    fn value_of(&self, row: &AllocationRow) -> Option<String> {
        match self.colour {
            Colour::Version if self.job.is_some() => {
                self.has(row).then(|| format!("version {} of {}", row.job_version, row.job_id))
            }
            Colour::Version => None,
            _ => Some(format!("{}@{}", row.job_id, row.namespace)),
        }
    }
}

/// What the allocations of a node say beyond what they use.
#[derive(Debug, Default)]
struct Tally {
    of_job: usize,
    /// Memory by value, where colours are values of allocations.
    values: HashMap<String, i64>,
    rows: Vec<AllocationRow>,
}

/// The tallies of all nodes, by their places.
#[derive(Debug, Default)]
struct Tallies {
    nodes: Vec<Tally>,
    total: usize,
}

impl Tallies {
    fn add(&mut self, look: &Look<'_>, row: AllocationRow, place: usize) {
        if self.nodes.len() <= place {
            self.nodes.resize_with(place + 1, Tally::default);
        }
        let Some(node) = self.nodes.get_mut(place) else { return };
        node.of_job += usize::from(look.has(&row));
        if matches!(look.colour, Colour::Job | Colour::Version)
            && let Some(value) = look.value_of(&row)
        {
            *node.values.entry(value).or_default() += row.amount().memory;
        }
        self.total += 1;
        if self.total <= MAX_PIECES {
            node.rows.push(row);
        } else if self.total == MAX_PIECES + 1 {
            self.nodes.iter_mut().for_each(|node| node.rows.clear());
        }
    }
}

/// `/ui/topology`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let look = Look::of(visit);
    let mut tallies = Tallies::default();
    let nodes = usage::read(visit, |row, place| tallies.add(&look, row, place)).await?;
    tallies.nodes.resize_with(nodes.len(), Tally::default);
    let all = nodes.iter().zip(&tallies.nodes);
    let shown: Vec<_> = all.filter(|(node, _)| look.only.is_none_or(|only| look.group_of(node) == only)).collect();
    let drawing = drawing(visit, &look, &shown);
    let allocations: usize = shown.iter().map(|(node, _)| node.allocations).sum();
    let caption = format!("Nodes: {}, allocations: {allocations}", shown.len());
    let body = html! {
        (filters(visit, &look))
        @if let (Some((namespace, id)), here) = (look.job, shown.iter().filter(|(_, t)| t.of_job > 0).count()) {
            p { "Job " (link::job(namespace, id)) " has allocations on " (here) " of these " (shown.len()) " nodes." }
        }
        @if tallies.total > MAX_PIECES && visit.source().is_live() {
            p.muted { "The picture of a large cluster is not updated by itself. " a href=(visit.address_with("", None)) { "Draw it again" } }
        }
        @if shown.is_empty() { p.empty { "There are no nodes here. Start an agent with a client to add one." } }
        @else { (drawing.markup(&caption)) }
        @if look.only.is_some() { p { a href=(visit.address_with("only", None)) { "All groups" } } }
        @else { h2 { "Groups" } (groups(visit, &look, &shown)) }
        @if look.only.is_some() || shown.len() <= PER_PAGE { h2 { "Nodes" } (node_table(visit, &look, &shown)) }
    };
    let page = Page::new(Area::Topology, "Topology", body);
    // A large cluster changes all the time, and reading it again each time would cost more than it is worth.
    Ok(if tallies.total <= MAX_PIECES { page.follows(["Node:*", "Allocation:*"]) } else { page })
}

fn filters(visit: &Visit, look: &Look<'_>) -> Markup {
    let colours: Vec<(&str, &str)> = COLOUR_NAMES.iter().map(|(name, title, _)| (*name, *title)).collect();
    let colour = COLOUR_NAMES.iter().find(|c| c.2 == look.colour).map_or("", |c| c.0);
    form::filter(
        visit,
        &html! {
            (form::choice("group", "Group by", look.group, &GROUP_NAMES))
            (form::choice("colour", "Colour by", colour, &colours))
            (form::text("job", "Mark the job", visit.parameter("job").unwrap_or_default(), "ID@namespace"))
        },
    )
}

fn drawing(visit: &Visit, look: &Look<'_>, shown: &[(&NodeUse, &Tally)]) -> Drawing {
    let values = values(look, shown);
    let cells = shown.iter().map(|(node, tally)| cell(look, &values, node, tally)).collect();
    let mut query: Vec<_> = visit.parameters().iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    query.extend(values.iter().map(|value| ("value", value.as_str())));
    let drawn = shown.iter().any(|(_, tally)| !tally.rows.is_empty());
    let from = if drawn { String::new() } else { with_query("/ui/topology/allocations", &query) };
    Drawing { cells, pieces_from: from, values }
}

/// The values that have a colour of their own: those of most nodes; the last one is what all others share.
fn values(look: &Look<'_>, shown: &[(&NodeUse, &Tally)]) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (node, tally) in shown {
        if let Some(value) = node_value(look, node, tally) {
            *counts.entry(value).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(value, _)| value.len() <= MAX_VALUE).collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let more = counts.len() >= COLOURS;
    let own = counts.into_iter().take(COLOURS - 1).map(|(value, _)| value.to_string());
    own.chain(more.then(|| "others".to_string())).collect()
}

fn node_value<'a>(look: &Look<'_>, node: &'a NodeUse, tally: &'a Tally) -> Option<&'a str> {
    match look.colour {
        Colour::Version if look.job.is_none() => Some(&node.row.version),
        Colour::Job | Colour::Version => {
            let most = tally.values.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
            most.map(|(value, _)| value.as_str())
        }
        _ => None,
    }
}

fn place_of(values: &[String], value: Option<&str>) -> Fill {
    let place = |value: &str| values.iter().position(|v| v == value).unwrap_or(COLOURS - 1);
    value.map_or(Fill::Plain, |value| Fill::Value(place(value)))
}

fn cell(look: &Look<'_>, values: &[String], node: &NodeUse, tally: &Tally) -> Cell {
    let (cpu, memory) = node.used.share_of(node.capacity);
    let fill = match look.colour {
        Colour::Use => Fill::Share(cpu.max(memory)),
        Colour::Cpu => Fill::Share(cpu),
        Colour::Memory => Fill::Share(memory),
        Colour::Job | Colour::Version => place_of(values, node_value(look, node, tally)),
    };
    let mut note = format!("{}: CPU {cpu}%, memory {memory}%, {} allocations", node.row.name, node.allocations);
    if tally.of_job > 0 {
        note.push_str(&format!(", {} of the job", tally.of_job));
    }
    Cell {
        id: node.row.id.clone(),
        group: look.group_of(node).to_string(),
        note,
        fill,
        condition: node.row.condition(),
        highlighted: tally.of_job > 0,
        changes: Vec::new(),
        pieces: tally.rows.iter().map(|row| piece(look, values, row, node.capacity)).collect(),
    }
}

fn piece(look: &Look<'_>, values: &[String], row: &AllocationRow, of: Amount) -> Piece {
    let amount = row.amount();
    let thousandths = |used: i64, of: i64| usize::try_from(percent(used.saturating_mul(10), of)).unwrap_or(0).min(1000);
    let value = look.value_of(row);
    // Without values in the legend, neighbours only need to be told apart.
    let fill = match look.colour {
        Colour::Job | Colour::Version => place_of(values, value.as_deref()),
        _ => Fill::Value(row.job_id.bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % 9973) % COLOURS),
    };
    Piece {
        id: row.id.clone(),
        note: format!("{}: {} MHz, {} MiB, {}", row.name, amount.cpu, amount.memory, row.client_status.as_str()),
        fill,
        cpu: thousandths(amount.cpu, of.cpu),
        memory: thousandths(amount.memory, of.memory),
        highlighted: look.has(row),
        change: None,
    }
}

/// The table of groups.
fn groups(visit: &Visit, look: &Look<'_>, shown: &[(&NodeUse, &Tally)]) -> Markup {
    #[derive(Default)]
    struct Sum {
        nodes: usize,
        ready: usize,
        allocations: usize,
        used: Amount,
        capacity: Amount,
    }
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for (node, _) in shown {
        let sum = sums.entry(look.group_of(node)).or_default();
        sum.nodes += 1;
        sum.ready += usize::from(node.row.condition() == Condition::Ready);
        sum.allocations += node.allocations;
        sum.used.add(node.used);
        sum.capacity.add(node.capacity);
    }
    let columns = ["Group", "Nodes#", "Ready#", "Allocations#", "CPU", "Memory"];
    let mut table = Table::new("Groups of nodes", &columns, html! { "There are no nodes." });
    for (name, sum) in sums {
        table.row([
            html! { a href=(visit.address_with("only", Some(name))) { (name) } },
            html! { (sum.nodes) },
            html! { (sum.ready) },
            html! { (sum.allocations) },
            meter::meter("CPU", sum.used.cpu, sum.capacity.cpu, "MHz"),
            meter::meter("Memory", sum.used.memory, sum.capacity.memory, "MiB"),
        ]);
    }
    table.markup()
}

/// The table of nodes, page by page: they are sorted by name, so the place of the first one names a page.
fn node_table(visit: &Visit, look: &Look<'_>, shown: &[(&NodeUse, &Tally)]) -> Markup {
    let first: usize = visit.parameter("next_token").and_then(|token| token.parse().ok()).unwrap_or(0);
    let mut columns = vec!["Node", "Group", "State", "Allocations#", "CPU", "Memory"];
    if look.job.is_some() {
        columns.push("Of the job#");
    }
    let mut table = Table::new("Nodes", &columns, html! { "There are no nodes on this page." });
    for (node, tally) in shown.iter().skip(first).take(PER_PAGE) {
        table.row([
            link::client(&node.row.id, &node.row.name),
            html! { (look.group_of(node)) },
            condition_of(&node.row.status, &node.row.scheduling_eligibility, node.row.drain),
            html! { (node.allocations) },
            meter::meter("CPU", node.used.cpu, node.capacity.cpu, "MHz"),
            meter::meter("Memory", node.used.memory, node.capacity.memory, "MiB"),
            html! { (tally.of_job) },
        ]);
    }
    let next = (first + PER_PAGE < shown.len()).then(|| (first + PER_PAGE).to_string());
    html! { (table.markup()) (pages(visit, next.as_deref())) }
}

/// `/ui/topology/allocations?node=…&node=…`: the allocations of some nodes, for the script that enlarges the picture.
/// Each node is a `<g data-node=…>`.
async fn allocations(visit: Visit, _: Request) -> Result<Response<Body>, PageError> {
    let look = Look::of(&visit);
    let named = |name: &'static str| visit.parameters().iter().filter(move |(n, _)| n == name).map(|(_, v)| v);
    let values: Vec<String> = named("value").take(COLOURS).cloned().collect();
    let ids: Vec<&str> = named("node").map(String::as_str).take(MAX_NODES).collect();
    let mut tallies = Tallies::default();
    let nodes = usage::read_some(&visit, &ids, |row, place| tallies.add(&look, row, place)).await?;
    tallies.nodes.resize_with(nodes.len(), Tally::default);
    let drawn = nodes.iter().zip(&tallies.nodes).map(|(node, tally)| {
        let parts: Vec<_> = tally.rows.iter().map(|row| piece(&look, &values, row, node.capacity)).collect();
        (&node.row.id, pieces(&parts))
    });
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" { @for (id, parts) in drawn { g data-node=(id) { (parts) } } }
    };
    let mut response = Response::new(Body::from(svg.into_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
    Ok(response)
}
