//! The CPU and the memory that an allocation uses, drawn while the page is open.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, header};
use encamp_model::stats::AllocResourceUsage;
use maud::{Markup, html};
use serde_json::json;

use crate::error::PageError;
use crate::pages::data::Alloc;
use crate::visit::{Visit, path, with_query};

/// The script that draws the graphs.
pub(super) const ASSETS: &[&str] = &["graph.js"];

/// The graphs of an allocation or of one task. The script fills them.
pub(super) fn graphs(a: &Alloc, task: Option<&str>) -> Markup {
    let tasks = a.allocated_resources.iter().flat_map(|r| &r.tasks);
    let (mut cpu, mut memory) = (0_i64, 0_i64);
    for (_, task) in tasks.filter(|(name, _)| task.is_none_or(|t| t == name.as_str())) {
        cpu = cpu.saturating_add(task.cpu.cpu_shares);
        memory = memory.saturating_add(task.memory.memory_mb);
    }
    let query: Vec<_> = task.iter().map(|t| ("task", *t)).collect();
    let source = with_query(&path("/ui/usage/", &a.id, ""), &query);
    html! {
        h2 { "Resources in use" }
        div.columns id="usage" data-keep data-usage=(source) {
            (graph("cpu", "CPU", "MHz", cpu))
            (graph("memory", "Memory", "MiB", memory))
        }
    }
}

fn graph(name: &str, title: &str, unit: &str, limit: i64) -> Markup {
    html! {
        figure data-graph=(name) data-limit=(limit) data-unit=(unit) {
            figcaption { (title) ": " output { "-" } " of " (limit) " " (unit) }
            svg.graph viewBox="0 0 300 80" preserveAspectRatio="none" role="img" aria-label={ (title) " in use" } {
                rect.frame x="0.5" y="0.5" width="299" height="79" {}
                path.area d="" {}
                path.line d="" {}
                line.limit x1="0" x2="300" y1="8" y2="8" {}
            }
        }
    }
}

/// `/ui/usage/{alloc}?task=…`: CPU in MHz and memory in MiB as JSON.
pub(super) async fn figures(visit: Visit, _: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    let path = path("/v1/client/allocation/", visit.name("alloc"), "/stats");
    let usage: AllocResourceUsage = visit.read(&path, &[]).await?;
    let of = match visit.parameter("task") {
        Some(task) => usage.tasks.get(task).map(|t| t.resource_usage.clone()).unwrap_or_default(),
        None => usage.resource_usage,
    };
    let memory = if of.memory_stats.usage > 0 { of.memory_stats.usage } else { of.memory_stats.rss };
    let text = json!({ "cpu": of.cpu_stats.total_ticks, "memory": memory >> 20 }).to_string();
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
