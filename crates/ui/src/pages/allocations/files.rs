//! The files of an allocation and of its tasks.

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use encamp_model::responses::AllocFileInfo;
use maud::{Markup, html};

use super::{below, logs, read, task};
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::data::Alloc;
use crate::parts::table::Table;
use crate::parts::{link, time};
use crate::visit::{Visit, path, with_query};

/// How much of a file a page shows, in bytes.
const SHOWN: u64 = 200_000;

/// `/ui/allocations/{alloc}/fs?path=…`
pub(super) async fn of_allocation(visit: &Visit) -> Result<Page, PageError> {
    visit.live_only()?;
    let a = read(visit).await?;
    let body = browser(visit, &a, "/").await?;
    Ok(below(&a, "Files".into(), body))
}

/// `/ui/allocations/{alloc}/{task}/fs?path=…`: begins in the task's directory.
pub(super) async fn of_task(visit: &Visit) -> Result<Page, PageError> {
    visit.live_only()?;
    let (a, name) = task::of(visit).await?;
    let body = browser(visit, &a, &format!("/{name}")).await?;
    Ok(task::page_of(visit, &a, &name, &body))
}

async fn browser(visit: &Visit, a: &Alloc, first: &str) -> Result<Markup, PageError> {
    let at = visit.parameter("path").unwrap_or(first);
    let query = [("path", at)];
    let info: AllocFileInfo = visit.read(&path("/v1/client/fs/stat/", &a.id, ""), &query).await?;
    let content = if info.is_dir || at == "/" {
        let files: Vec<AllocFileInfo> = visit.read(&path("/v1/client/fs/ls/", &a.id, ""), &query).await?;
        directory(visit, at, files)
    } else {
        file(visit, a, at, &info).await?
    };
    Ok(html! { (trail(visit, at)) (content) })
}

/// The directories above.
fn trail(visit: &Visit, at: &str) -> Markup {
    let parts: Vec<&str> = at.split('/').filter(|part| !part.is_empty()).collect();
    let to = |n: usize| format!("/{}", parts.get(..n).unwrap_or_default().join("/"));
    html! {
        nav.trail aria-label="Directories" {
            ol {
                li { a href=(visit.address_with("path", Some("/"))) { "allocation" } }
                @for (i, part) in parts.iter().enumerate() {
                    li { a href=(visit.address_with("path", Some(&to(i.saturating_add(1))))) { (part) } }
                }
            }
        }
    }
}

fn directory(visit: &Visit, at: &str, mut files: Vec<AllocFileInfo>) -> Markup {
    files.sort_by(|a, b| b.is_dir.cmp(&a.is_dir).then_with(|| a.name.cmp(&b.name)));
    let mut table =
        Table::new("Files", &["Name", "Size (bytes)#", "Mode", "Changed"], html! { "The directory is empty." });
    for f in &files {
        let to = format!("{}/{}", at.trim_end_matches('/'), f.name);
        let slash = if f.is_dir { "/" } else { "" };
        table.row([
            html! { a href=(visit.address_with("path", Some(&to))) { (f.name) (slash) } },
            html! { @if f.is_dir { "-" } @else { (f.size) } },
            html! { code { (f.file_mode) } },
            time::moment(visit, f.mod_time.unix_nanos().unwrap_or(0)),
        ]);
    }
    table.markup()
}

async fn file(visit: &Visit, a: &Alloc, at: &str, info: &AllocFileInfo) -> Result<Markup, PageError> {
    let limit = SHOWN.to_string();
    let query = [("path", at), ("offset", "0"), ("limit", limit.as_str())];
    let text = visit.read_text(&path("/v1/client/fs/readat/", &a.id, ""), &query).await?;
    let download = with_query(&link::task_address(&a.id, "fs", "download"), &[("path", at)]);
    let is_text = !text.contains(['\0', char::REPLACEMENT_CHARACTER]);
    Ok(html! {
        div.actions { a.button href=(download) download { "Download" } }
        p.muted { (info.size) " bytes" @if info.size > SHOWN { ", of which the first " (SHOWN) " are shown" } }
        @if is_text { pre.log tabindex="0" aria-label="Content" { (text) } } @else { p.empty { "The file is not text. Download it." } }
    })
}

/// `/ui/allocations/{alloc}/fs/download?path=…`
pub(super) async fn download(visit: Visit, _: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    let at = visit.parameter("path").unwrap_or_default().to_string();
    let path = path("/v1/client/fs/cat/", visit.name("alloc"), "");
    let mut response = logs::stream(&visit, &path, &[("path", &at)]).await?;
    logs::attach(&mut response, at.rsplit('/').next().unwrap_or_default());
    Ok(response)
}
