//! Variables: texts that the cluster keeps encrypted. Their values are shown only when a person asks for them.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use encamp_acl::{Need, VariableCapability};
use encamp_model::VariableMetadata;
use encamp_model::json::null_is_default;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Done;
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{self, Request};
use crate::parts::state::{Tone, notice, state};
use crate::parts::table::{Table, facts};
use crate::parts::{form, link, time};
use crate::visit::{Visit, encoded, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/variables", handler!(list)),
        ("/ui/variables/path/{*prefix}", handler!(list)),
        ("/ui/variables/new", handler!(new)),
        ("/ui/variables/var/{*variable}", handler!(variable)),
    ],
    actions: &[("/ui/variables/save", handler!(save)), ("/ui/variables/delete", handler!(delete))],
    streams: &[],
};

/// Fields of a form that are empty, for further items.
const FREE_FIELDS: usize = 3;

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Variable {
    #[serde(flatten)]
    about: VariableMetadata,
    items: BTreeMap<String, String>,
}

/// The address of a variable, which is that of Nomad's UI: its path, with the namespace behind an `@`.
fn address(namespace: &str, path: &str) -> String {
    format!("/ui/variables/var/{}@{}", encoded(path), encoded(namespace))
}

/// `/ui/variables`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let prefix = visit.parameter("prefix").unwrap_or_else(|| visit.name("prefix"));
    let found = Request::new(visit, "/v1/vars").with("prefix", prefix).read::<VariableMetadata>().await?;
    let empty = html! { "No variables here, or your token may not list them." };
    let mut table = Table::new("Variables", &["Path", "Namespace", "Changed", "Index#", "Lock"], empty);
    for row in &found.rows {
        table.row([
            html! { a href=(address(&row.namespace, &row.path)) { (row.path) } },
            html! { (row.namespace) },
            time::moment(visit, row.modify_time),
            html! { (row.modify_index) },
            lock(row),
        ]);
    }
    let fields = html! {
        (form::text("prefix", "Path begins with", prefix, ""))
        (listing::namespaces(visit).await)
    };
    let body = html! {
        (form::filter(visit, &fields))
        @if visit.offers(&Need::AnyVariable("*")) { p { a.button href="/ui/variables/new" { "New variable" } } }
        (found.markup(visit, &table))
    };
    Ok(Page::new(Area::Variables, "Variables", body).follows(["Variable:*"]))
}

fn lock(of: &VariableMetadata) -> Markup {
    match &of.lock {
        Some(lock) => html! { span title=(lock.id) { (state(Tone::Warning, "locked")) } },
        None => html! { "-" },
    }
}

/// A variable with its values.
async fn read(visit: &Visit, at: &str, namespace: &str) -> Result<Variable, PageError> {
    let found = visit.find(&path("/v1/var/", at, ""), &[("namespace", namespace)]).await?;
    found.ok_or_else(|| PageError::Missing { kind: "variable", name: at.to_string() })
}

/// `/ui/variables/var/{variable}`, and the same with `/edit`. The path of a variable may have slashes and may end with
/// `/edit`; its namespace may not.
async fn variable(visit: &Visit) -> Result<Page, PageError> {
    let (at, namespace) = link::split(visit.name("variable"));
    if let Some(namespace) = namespace.strip_suffix("/edit") {
        return edit(visit, read(visit, at, namespace).await?);
    }
    let variable = read(visit, at, namespace).await?;
    let about = &variable.about;
    let here = address(&about.namespace, &about.path);
    let shown = visit.parameter("values") == Some("shown");
    let mut table = Table::new("Items", &["Key", "Value"], html! { "The variable has no items." });
    for (key, value) in &variable.items {
        table
            .row([html! { code { (key) } }, html! { @if shown { pre { (value) } } @else { span.muted { "hidden" } } }]);
    }
    let may = |capability| visit.offers(&Need::Variable(&about.namespace, &about.path, capability));
    let (toggle, label) = if shown { (None, "Hide the values") } else { (Some("shown"), "Show the values") };
    let body = html! {
        (metadata(visit, about))
        p { a.button href=(visit.address_with("values", toggle)) { (label) } }
        (table.markup())
        @if may(VariableCapability::Write) || may(VariableCapability::Destroy) {
            div.actions {
                @if may(VariableCapability::Write) { a.button href={ (here) "/edit" } { "Edit" } }
                @if may(VariableCapability::Destroy) {
                    (form::action(visit, "/ui/variables/delete", &html! {
                        input type="hidden" name="path" value=(about.path);
                        input type="hidden" name="namespace" value=(about.namespace);
                        input type="hidden" name="index" value=(about.modify_index);
                        button type="submit" data-question="Delete this variable?" { "Delete" }
                    }))
                }
            }
        }
        @if let Some(job) = about.path.strip_prefix("nomad/jobs/") {
            @let id = job.split('/').next().unwrap_or(job);
            p { "Tasks of the job " (link::job(&about.namespace, id)) " can read it." }
        }
    };
    let topic = format!("Variable:{}", about.path);
    Ok(Page::new(Area::Variables, about.path.clone(), body).below("Variables", "/ui/variables").follows([topic]))
}

fn metadata(visit: &Visit, about: &VariableMetadata) -> Markup {
    let lock = about.lock.as_ref().map(|lock| {
        let (ttl, delay) = (time::duration(lock.ttl), time::duration(lock.lock_delay));
        html! { "held by " code { (lock.id) } ", renewed within " (ttl) ", free " (delay) " after its end" }
    });
    facts(&[
        ("Namespace", html! { (about.namespace) }),
        ("Created", time::moment(visit, about.create_time)),
        ("Changed", time::moment(visit, about.modify_time)),
        ("Index", html! { (about.modify_index) }),
        ("Lock", lock.unwrap_or_else(|| html! { "none" })),
    ])
}

/// `/ui/variables/new`
async fn new(visit: &Visit) -> Result<Page, PageError> {
    visit.live_only()?;
    let about = VariableMetadata {
        path: visit.parameter("path").unwrap_or_default().to_string(),
        namespace: visit.parameter("namespace").unwrap_or("default").to_string(),
        ..VariableMetadata::default()
    };
    let body = fields(visit, &Variable { about, ..Variable::default() });
    Ok(Page::new(Area::Variables, "New variable", body).below("Variables", "/ui/variables"))
}

/// `/ui/variables/var/{variable}/edit`
fn edit(visit: &Visit, variable: Variable) -> Result<Page, PageError> {
    visit.live_only()?;
    let about = &variable.about;
    let locked = html! { p { "The variable is locked: only the holder of the lock can change it." } };
    let body = html! {
        @if about.lock.is_some() { (notice(Tone::Warning, &locked)) }
        (fields(visit, &variable))
    };
    let page = Page::new(Area::Variables, format!("Edit {}", about.path), body).below("Variables", "/ui/variables");
    Ok(page.below(about.path.clone(), address(&about.namespace, &about.path)))
}

/// The form: the index in it makes sure that nobody's change is lost.
fn fields(visit: &Visit, variable: &Variable) -> Markup {
    let about = &variable.about;
    let is_new = about.modify_index == 0;
    let item = |key: &str, value: &str| {
        html! {
            div.item {
                label.field { span { "Key" } input type="text" name="key" value=(key) autocomplete="off"; }
                label.field { span { "Value" } textarea name="value" rows="2" spellcheck="false" autocomplete="off" { "\n" (value) } }
            }
        }
    };
    form::action(
        visit,
        "/ui/variables/save",
        &html! {
            input type="hidden" name="index" value=(about.modify_index);
            @if is_new {
                (form::text("path", "Path", &about.path, "nomad/jobs/web"))
                (form::text("namespace", "Namespace", &about.namespace, "default"))
            } @else {
                input type="hidden" name="path" value=(about.path);
                input type="hidden" name="namespace" value=(about.namespace);
            }
            @for (key, value) in &variable.items { (item(key, value)) }
            @for _ in 0..FREE_FIELDS { (item("", "")) }
            p.muted { "An item without a key is left out. Save and edit again for more items." }
            button type="submit" { "Save" }
        },
    )
}

/// Saves a variable, if nobody changed it since the form was made.
async fn save(visit: &Visit) -> Result<Done, PageError> {
    let at = visit.required("path", "The path")?;
    let namespace = visit.field("namespace").unwrap_or("default");
    let index = visit.field("index").unwrap_or("0");
    let named = |name: &'static str| visit.fields().iter().filter(move |(n, _)| n == name).map(|(_, v)| v);
    // Browsers end lines of a text field by CR LF.
    let items: BTreeMap<&String, String> = named("key")
        .zip(named("value"))
        .filter(|(k, _)| !k.is_empty())
        .map(|(k, v)| (k, v.replace("\r\n", "\n")))
        .collect();
    let body = json!({ "Namespace": namespace, "Path": at, "Items": items });
    let query = [("namespace", namespace), ("cas", index)];
    let saved: Result<Value, PageError> = visit.write(Method::PUT, &path("/v1/var/", at, ""), &query, &body).await;
    saved.map_err(conflict)?;
    Ok(Done::new(address(namespace, at), "The variable is saved."))
}

async fn delete(visit: &Visit) -> Result<Done, PageError> {
    let (at, namespace) = (visit.required("path", "The path")?, visit.required("namespace", "The namespace")?);
    let query = [("namespace", namespace), ("cas", visit.required("index", "The index")?)];
    let deleted: Result<Value, PageError> =
        visit.write(Method::DELETE, &path("/v1/var/", at, ""), &query, &Value::Null).await;
    deleted.map_err(conflict)?;
    Ok(Done::new("/ui/variables", "The variable is deleted."))
}

/// A conflict, without the values that its answer repeats.
fn conflict(e: PageError) -> PageError {
    match e {
        PageError::Api { status: StatusCode::CONFLICT, .. } => {
            let text = "The variable is locked, or it was changed since you opened it. Open it again to see its present state.";
            PageError::Api { status: StatusCode::CONFLICT, text: text.into() }
        }
        other => other,
    }
}
