//! Tokens. Their secret IDs are shown only when a person asks for one.

use axum::http::Method;
use encamp_model::acl::AclToken;
use encamp_model::duration::parse_duration;
use maud::{Markup, html};
use serde_json::{Value, json};

use super::{ROOT, delete_button, get, list_page, names, policy_links, remove, single};
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::Done;
use crate::parts::listing::Request;
use crate::parts::state::{Tone, state};
use crate::parts::table::{Table, facts};
use crate::parts::{form, link, time};
use crate::visit::{Visit, path};

pub(super) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let read = Request::new(visit, "/v1/acl/tokens").read::<AclToken>().await;
    let content = read.map(|tokens| {
        let columns = ["Name", "Accessor ID", "Type", "Policies", "Roles", "Created", "Expires"];
        let mut table = Table::new("Tokens", &columns, html! { "No tokens that your token may see." });
        for token in &tokens.rows {
            let name = if token.name.is_empty() { "(no name)" } else { &token.name };
            table.row([
                html! { a href=(address(&token.accessor_id)) { (name) } },
                html! { code { (link::short(&token.accessor_id)) } },
                html! { (token.r#type.as_str()) },
                policy_links(token.policies.iter().map(String::as_str)),
                roles(token),
                time::moment(visit, token.create_time.unix_nanos().unwrap_or(0)),
                expiry(visit, token),
            ]);
        }
        html! { (tokens.markup(visit, &table)) @if manage { (creation(visit)) } }
    });
    list_page(visit, "Tokens", content).await
}

fn address(accessor: &str) -> String {
    path(&format!("{ROOT}/tokens/"), accessor, "")
}

fn roles(token: &AclToken) -> Markup {
    html! { @for role in &token.roles { a href=(path(&format!("{ROOT}/roles/"), &role.id, "")) { (role.name) } " " } }
}

fn expiry(visit: &Visit, token: &AclToken) -> Markup {
    match token.expiration_time.and_then(|at| at.unix_nanos()) {
        Some(at) if at <= visit.now => state(Tone::Bad, "expired"),
        Some(at) => time::moment(visit, at),
        None => html! { "never" },
    }
}

fn creation(visit: &Visit) -> Markup {
    let fields = html! {
        (form::text("name", "Name", "", ""))
        (form::choice("type", "Type", "client", &[("client", "client: what its policies allow"), ("management", "management: everything")]))
        (form::text("policies", "Policies", "", "read-jobs, write-logs"))
        (form::text("roles", "Names of roles", "", ""))
        (form::text("ttl", "Valid for", "", "8h; empty: without end"))
        (form::switch("global", "In all regions", false))
        button type="submit" { "Create" }
    };
    html! { details { summary { "New token" } (form::action(visit, &format!("{ROOT}/tokens"), &fields)) } }
}

pub(super) async fn token(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let token: AclToken = get(visit, "/v1/acl/token/", "token", visit.name("id")).await?;
    let shown = visit.parameter("secret") == Some("shown");
    let (toggle, label) = if shown { (None, "Hide") } else { (Some("shown"), "Show") };
    let secret = html! {
        @if shown { code { (token.secret_id.expose()) } " " button type="button" data-copy=(token.secret_id.expose()) { "Copy" } " " }
        a href=(visit.address_with("secret", toggle)) { (label) }
    };
    let body = html! {
        (facts(&[
            ("Accessor ID", html! { code { (token.accessor_id) } }),
            ("Secret ID", secret),
            ("Type", html! { (token.r#type.as_str()) @if token.global { ", in all regions" } }),
            ("Policies", policy_links(token.policies.iter().map(String::as_str))),
            ("Roles", roles(&token)),
            ("Created", time::moment(visit, token.create_time.unix_nanos().unwrap_or(0))),
            ("Expires", expiry(visit, &token)),
        ]))
        @if manage { (delete_button(visit, "tokens", &token.accessor_id)) }
    };
    Ok(single(if token.name.is_empty() { &token.accessor_id } else { &token.name }, ("Tokens", "tokens"), body))
}

pub(super) async fn create(visit: &Visit) -> Result<Done, PageError> {
    let ttl = match visit.field("ttl") {
        Some(text) => parse_duration(text.trim())
            .map_err(|_| PageError::Input(format!("This is no duration such as 8h: {text}")))?,
        None => 0,
    };
    let roles: Vec<Value> = names(visit.field("roles")).iter().map(|name| json!({ "Name": name })).collect();
    let request = json!({
        "Name": visit.field("name").unwrap_or_default(), "Type": visit.required("type", "The type")?,
        "Policies": names(visit.field("policies")), "Roles": roles, "Global": visit.field("global").is_some(), "ExpirationTTL": ttl,
    });
    let created: AclToken = visit.write(Method::PUT, "/v1/acl/token", &[], &request).await?;
    Ok(Done::new(address(&created.accessor_id), "The token is created. Its secret ID can be shown here."))
}

pub(super) async fn delete(visit: &Visit) -> Result<Done, PageError> {
    remove(visit, "/v1/acl/token/", visit.name("id"), "tokens").await
}
