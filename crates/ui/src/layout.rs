//! The document around a page.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use maud::{DOCTYPE, Markup, html};

use crate::appearance::LABEL_STYLE;
use crate::assets;
use crate::cluster::Source;
use crate::parts::time;
use crate::visit::{Visit, encoded};

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    /// The title, as text.
    pub title: String,
    /// Where the page is in the navigation.
    pub area: Area,
    /// What is below the heading.
    pub body: Markup,
    /// The topics of the event stream (`Job:web`, `Allocation:*`) that change the page. An open page is read again when
    /// an event of one comes.
    pub topics: Vec<String>,
    /// What precedes the title: pages above this one, with their addresses.
    pub trail: Vec<(String, String)>,
    /// Style sheets and scripts of this page besides those of all pages.
    pub assets: &'static [&'static str],
}

impl Page {
    /// A page without topics and trail.
    pub(crate) fn new(area: Area, title: impl Into<String>, body: Markup) -> Page {
        Page { title: title.into(), area, body, topics: Vec::new(), trail: Vec::new(), assets: &[] }
    }

    /// The page with the topics that change it.
    pub(crate) fn follows(mut self, topics: impl IntoIterator<Item = impl Into<String>>) -> Page {
        self.topics = topics.into_iter().map(Into::into).collect();
        self
    }

    /// The page with style sheets and scripts of its own.
    pub(crate) fn with_assets(mut self, assets: &'static [&'static str]) -> Page {
        self.assets = assets;
        self
    }

    /// The page below another one.
    pub(crate) fn below(mut self, title: impl Into<String>, address: impl Into<String>) -> Page {
        self.trail.push((title.into(), address.into()));
        self
    }
}

/// An area of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    Overview,
    Jobs,
    Allocations,
    Evaluations,
    Deployments,
    Clients,
    Servers,
    Topology,
    Plan,
    Questions,
    Services,
    Variables,
    Storage,
    Namespaces,
    Access,
    /// None of them.
    Other,
}

/// An area with its name, path and key.
type Entry = (Area, &'static str, &'static str, &'static str);

/// The areas that the navigation shows, with the paths of their pages and the keys that follow `g`.
const NAVIGATION: [(&str, &[Entry]); 3] = [
    (
        "Workload",
        &[
            (Area::Overview, "Overview", "/ui/", "o"),
            (Area::Jobs, "Jobs", "/ui/jobs", "j"),
            (Area::Allocations, "Allocations", "/ui/allocations", "a"),
            (Area::Deployments, "Deployments", "/ui/deployments", "d"),
            (Area::Evaluations, "Evaluations", "/ui/evaluations", "e"),
            (Area::Services, "Services", "/ui/services", "s"),
            (Area::Variables, "Variables", "/ui/variables", "v"),
            (Area::Storage, "Storage", "/ui/storage", "b"),
        ],
    ),
    (
        "Cluster",
        &[
            (Area::Topology, "Topology", "/ui/topology", "t"),
            (Area::Clients, "Clients", "/ui/clients", "c"),
            (Area::Servers, "Servers", "/ui/servers", "r"),
            (Area::Namespaces, "Namespaces and pools", "/ui/namespaces", "n"),
            (Area::Access, "Access", "/ui/access", "x"),
        ],
    ),
    (
        "Before you change it",
        &[(Area::Plan, "Plan a job", "/ui/plan", "p"), (Area::Questions, "What if", "/ui/questions", "w")],
    ),
];

/// The whole document.
pub(crate) fn document(visit: &Visit, page: &Page) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " – encamp" }
                link rel="icon" href=(assets::address("icon.svg"));
                link rel="stylesheet" href=(assets::address("app.css"));
                @if visit.label().is_some() { link rel="stylesheet" href=(LABEL_STYLE); }
                @for name in page.assets.iter().filter(|n| n.ends_with(".css")) { link rel="stylesheet" href=(assets::address(name)); }
                script src=(assets::address("idiomorph.min.js")) defer {}
                script src=(assets::address("app.js")) type="module" {}
                @for name in page.assets.iter().filter(|n| n.ends_with(".js")) { script src=(assets::address(name)) type="module" {} }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                (header(visit))
                (navigation(page.area))
                main id="main" tabindex="-1" data-live[visit.source().is_live()] data-topics=[topics(visit, page)] {
                    (trail(page))
                    h1 { (page.title) }
                    (page.body)
                }
            }
        }
    }
}

/// A page that leads to another address at once. Its request comes from a page of ours, so that it has our cookies.
pub(crate) fn onward(to: &str, text: &str) -> Response<Body> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; link rel="icon" href=(assets::address("icon.svg")); meta http-equiv="refresh" content={ "0;url=" (to) }; title { (text) " – encamp" } }
            body { main { h1 { (text) } p { a href=(to) { "Continue" } } } }
        }
    };
    let mut response = Response::new(Body::from(page.into_string()));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response
}

/// The topics of the page for the script that follows them, encoded and separated by spaces; none for a file.
fn topics(visit: &Visit, page: &Page) -> Option<String> {
    let encoded = || page.topics.iter().map(|topic| encoded(topic)).collect::<Vec<_>>().join(" ");
    (visit.source().is_live() && !page.topics.is_empty()).then(encoded)
}

fn header(visit: &Visit) -> Markup {
    html! {
        header.top {
            button.menu type="button" popovertarget="areas" { "Menu" }
            a.brand href="/ui/" { "encamp" }
            @if let Some(label) = visit.label() { span.label { (label.text) } }
            (source(visit))
            form.search action="/ui/search" method="get" role="search" {
                input type="search" name="q" aria-label="Search" placeholder="Search  /" accesskey="s"
                    value=[visit.parameter("q")];
            }
            // The script shows here that it cannot reach the agent.
            p.connection role="status" hidden { "Connection lost. Trying again…" }
            @if visit.source().is_live() {
                a.account href="/ui/settings/tokens" { @if visit.is_signed_in() { "Signed in" } @else { "Sign in" } }
            }
        }
    }
}

fn source(visit: &Visit) -> Markup {
    match visit.source() {
        Source::Agent { region, .. } => html! { span.source { "region " (region) } },
        Source::Address(address) => html! { span.source { (address) } },
        Source::File { name, taken } => html! {
            span.source { "file " (name) @if *taken > 0 { ", as of " (time::date(*taken)) } }
        },
    }
}

fn navigation(area: Area) -> Markup {
    html! {
        nav.areas id="areas" aria-label="Areas" popover {
            @for (group, entries) in NAVIGATION {
                h2 { (group) }
                ul {
                    @for (of, name, path, key) in entries {
                        li { a href=(path) data-key=(key) aria-current=[(*of == area).then_some("page")] { (name) } }
                    }
                }
            }
        }
    }
}

fn trail(page: &Page) -> Markup {
    html! {
        @if !page.trail.is_empty() {
            nav.trail aria-label="Above this page" {
                ol { @for (title, address) in &page.trail { li { a href=(address) { (title) } } } }
            }
        }
    }
}
