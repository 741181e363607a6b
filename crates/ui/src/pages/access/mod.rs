//! Who may do what: policies, roles, tokens, auth methods and binding rules.

mod policies;
mod tokens;

use axum::http::{Method, StatusCode};
use encamp_model::acl::{AclAuthMethod, AclBindingRule, AclRole};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::Done;
use super::routes::{Routes, handler};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::state::{Tone, notice};
use crate::parts::table::{Table, facts, tabs};
use crate::parts::{form, time};
use crate::visit::{Visit, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/access", handler!(policies::list)),
        ("/ui/access-control", handler!(policies::list)),
        ("/ui/access-control/policies", handler!(policies::list)),
        ("/ui/access-control/policies/{name}", handler!(policies::policy)),
        ("/ui/access-control/roles", handler!(roles)),
        ("/ui/access-control/roles/{id}", handler!(role)),
        ("/ui/access-control/tokens", handler!(tokens::list)),
        ("/ui/access-control/tokens/{id}", handler!(tokens::token)),
        ("/ui/access-control/auth-methods", handler!(methods)),
        ("/ui/access-control/auth-methods/{name}", handler!(method)),
        ("/ui/access-control/binding-rules", handler!(rules)),
        ("/ui/access-control/binding-rules/{id}", handler!(rule)),
    ],
    actions: &[
        ("/ui/access-control/policies", handler!(policies::save)),
        ("/ui/access-control/policies/{name}/delete", handler!(policies::delete)),
        ("/ui/access-control/roles", handler!(save_role)),
        ("/ui/access-control/roles/{id}/delete", handler!(delete_role)),
        ("/ui/access-control/tokens", handler!(tokens::create)),
        ("/ui/access-control/tokens/{id}/delete", handler!(tokens::delete)),
        ("/ui/access-control/auth-methods", handler!(save_method)),
        ("/ui/access-control/auth-methods/{name}/delete", handler!(delete_method)),
        ("/ui/access-control/binding-rules", handler!(save_rule)),
        ("/ui/access-control/binding-rules/{id}/delete", handler!(delete_rule)),
    ],
    streams: &[],
};

const ROOT: &str = "/ui/access-control";

/// A list of access: with the links to the others. A cluster without ACLs has none of them.
async fn list_page(visit: &Visit, title: &str, content: Result<Markup, PageError>) -> Result<Page, PageError> {
    let sections = [
        ("Policies", "/ui/access"),
        ("Roles", "/ui/access-control/roles"),
        ("Tokens", "/ui/access-control/tokens"),
        ("Auth methods", "/ui/access-control/auth-methods"),
        ("Binding rules", "/ui/access-control/binding-rules"),
    ];
    let content = match content {
        Err(PageError::Api { .. }) if !visit.source().is_live() => {
            notice(Tone::Neutral, &html! { p { "Access is not part of the pages of a file." } })
        }
        // The API has no status of its own for it: any list of a cluster without ACLs is a bad request.
        Err(PageError::Api { status: StatusCode::BAD_REQUEST, text }) => notice(
            Tone::Neutral,
            &html! {
                p { (text) ". Everybody who reaches the API may do everything. Set " code { "acl { enabled = true }" } " in the configuration of all agents to change that." }
            },
        ),
        other => other?,
    };
    let links = sections.map(|(name, address)| (name, address.to_string()));
    Ok(Page::new(Area::Access, title, html! { (tabs(visit, "Access", &links)) (content) }))
}

fn single(title: impl Into<String>, list: (&str, &str), body: Markup) -> Page {
    Page::new(Area::Access, title, body).below(list.0, format!("{ROOT}/{}", list.1))
}

async fn get<T: serde::de::DeserializeOwned>(
    visit: &Visit,
    at: &str,
    kind: &'static str,
    name: &str,
) -> Result<T, PageError> {
    let found = visit.find(&path(at, name, ""), &[]).await?;
    found.ok_or_else(|| PageError::Missing { kind, name: name.to_string() })
}

async fn remove(visit: &Visit, at: &str, name: &str, list: &str) -> Result<Done, PageError> {
    let _: Value = visit.write(Method::DELETE, &path(at, name, ""), &[], &Value::Null).await?;
    Ok(Done::new(format!("{ROOT}/{list}"), "Deleted."))
}

fn delete_button(visit: &Visit, list: &str, name: &str) -> Markup {
    let to = path(&format!("{ROOT}/{list}/"), name, "/delete");
    form::button(visit, &to, "Delete", Some("Delete this? Tokens lose what they have by it."))
}

/// Names that a person separates by commas or spaces.
fn names(text: Option<&str>) -> Vec<String> {
    let split = text.unwrap_or_default().split([',', ' ', '\n']).map(str::trim);
    split.filter(|name| !name.is_empty()).map(str::to_string).collect()
}

fn policy_links<'a>(policies: impl IntoIterator<Item = &'a str>) -> Markup {
    html! { @for name in policies { a href=(path(&format!("{ROOT}/policies/"), name, "")) { (name) } " " } }
}

// ---- Roles ----

async fn roles(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let read = visit.read::<Vec<AclRole>>("/v1/acl/roles", &[]).await;
    let content = read.map(|roles| {
        let empty = html! { "No roles that your token may see. A role names policies, so that tokens need not." };
        let mut table = Table::new("Roles", &["Name", "Description", "Policies"], empty);
        for role in &roles {
            table.row([
                html! { a href=(path(&format!("{ROOT}/roles/"), &role.id, "")) title=(role.id) { (role.name) } },
                html! { (role.description) },
                policy_links(role.policies.iter().map(|p| p.name.as_str())),
            ]);
        }
        html! {
            (table.markup())
            @if manage { details { summary { "New role" } (role_form(visit, &AclRole::default())) } }
        }
    });
    list_page(visit, "Roles", content).await
}

fn role_form(visit: &Visit, role: &AclRole) -> Markup {
    let policies: Vec<&str> = role.policies.iter().map(|p| p.name.as_str()).collect();
    form::action(
        visit,
        &format!("{ROOT}/roles"),
        &html! {
            input type="hidden" name="id" value=(role.id);
            (form::text("name", "Name", &role.name, ""))
            (form::text("description", "Description", &role.description, ""))
            (form::text("policies", "Policies", &policies.join(", "), "read-jobs, write-logs"))
            button type="submit" { "Save" }
        },
    )
}

async fn role(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let role: AclRole = get(visit, "/v1/acl/role/", "role", visit.name("id")).await?;
    let body = html! {
        (facts(&[
            ("ID", html! { code { (role.id) } }),
            ("Description", html! { (role.description) }),
            ("Policies", policy_links(role.policies.iter().map(|p| p.name.as_str()))),
        ]))
        @if manage { h2 { "Change" } (role_form(visit, &role)) (delete_button(visit, "roles", &role.id)) }
    };
    Ok(single(role.name.clone(), ("Roles", "roles"), body))
}

async fn save_role(visit: &Visit) -> Result<Done, PageError> {
    let id = visit.field("id").unwrap_or_default();
    let policies: Vec<Value> = names(visit.field("policies")).iter().map(|name| json!({ "Name": name })).collect();
    let role = json!({
        "ID": id, "Name": visit.required("name", "The name")?,
        "Description": visit.field("description").unwrap_or_default(), "Policies": policies,
    });
    let at = if id.is_empty() { "/v1/acl/role".to_string() } else { path("/v1/acl/role/", id, "") };
    let saved: AclRole = visit.write(Method::PUT, &at, &[], &role).await?;
    Ok(Done::new(path(&format!("{ROOT}/roles/"), &saved.id, ""), "The role is saved."))
}

async fn delete_role(visit: &Visit) -> Result<Done, PageError> {
    remove(visit, "/v1/acl/role/", visit.name("id"), "roles").await
}

// ---- Auth methods and binding rules: their many fields are changed as JSON, as the API has them. ----

async fn methods(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let read = visit.read::<Vec<AclAuthMethod>>("/v1/acl/auth-methods", &[]).await;
    let content = read.map(|methods| {
        let empty = html! { "No auth methods. With one, people sign in at an identity provider instead of with a token." };
        let mut table = Table::new("Auth methods", &["Name", "Type", "Default"], empty);
        for method in &methods {
            table.row([
                html! { a href=(path(&format!("{ROOT}/auth-methods/"), &method.name, "")) { (method.name) } },
                html! { (method.r#type.as_str()) },
                html! { @if method.default { "yes" } @else { "no" } },
            ]);
        }
        let draft = json!({ "Name": "", "Type": "OIDC", "TokenLocality": "local", "MaxTokenTTL": "1h", "Default": false,
            "Config": { "OIDCDiscoveryURL": "", "OIDCClientID": "", "OIDCClientSecret": "", "AllowedRedirectURIs": [], "ClaimMappings": {}, "ListClaimMappings": {} } });
        html! { (table.markup()) @if manage { (creation(visit, "New auth method", "auth-methods", &draft)) } }
    });
    list_page(visit, "Auth methods", content).await
}

async fn method(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let name = visit.name("name");
    let object: Value = get(visit, "/v1/acl/auth-method/", "auth method", name).await?;
    let method: AclAuthMethod = serde_json::from_value(object.clone()).unwrap_or_default();
    let body = html! {
        (facts(&[
            ("Type", html! { (method.r#type.as_str()) }),
            ("Default", html! { @if method.default { "yes" } @else { "no" } }),
            ("Tokens", html! { (method.token_locality.as_str()) ", valid for " (time::duration(method.max_token_ttl)) }),
            ("Token names", html! { code { (method.token_name_format) } }),
        ]))
        (definition(visit, manage, "auth-methods", name, &object))
    };
    Ok(single(name, ("Auth methods", "auth-methods"), body))
}

async fn save_method(visit: &Visit) -> Result<Done, PageError> {
    let object = defined(visit)?;
    let name = object.get("Name").and_then(Value::as_str).unwrap_or_default().to_string();
    let at = if visit.field("new").is_some() {
        "/v1/acl/auth-method".to_string()
    } else {
        path("/v1/acl/auth-method/", &name, "")
    };
    let _: Value = visit.write(Method::PUT, &at, &[], &object).await?;
    Ok(Done::new(path(&format!("{ROOT}/auth-methods/"), &name, ""), "The auth method is saved."))
}

async fn delete_method(visit: &Visit) -> Result<Done, PageError> {
    remove(visit, "/v1/acl/auth-method/", visit.name("name"), "auth-methods").await
}

async fn rules(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let read = visit.read::<Vec<AclBindingRule>>("/v1/acl/binding-rules", &[]).await;
    let content = read.map(|rules| {
        let empty = html! { "No binding rules. They decide which roles and policies a person gets who signs in with an auth method." };
        let mut table = Table::new("Binding rules", &["ID", "Auth method", "Description"], empty);
        for rule in &rules {
            table.row([
                html! { a href=(path(&format!("{ROOT}/binding-rules/"), &rule.id, "")) { code { (crate::parts::link::short(&rule.id)) } } },
                html! { (rule.auth_method) },
                html! { (rule.description) },
            ]);
        }
        let draft = json!({ "AuthMethod": "", "Description": "", "Selector": "", "BindType": "role", "BindName": "" });
        html! { (table.markup()) @if manage { (creation(visit, "New binding rule", "binding-rules", &draft)) } }
    });
    list_page(visit, "Binding rules", content).await
}

async fn rule(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let id = visit.name("id");
    let object: Value = get(visit, "/v1/acl/binding-rule/", "binding rule", id).await?;
    let rule: AclBindingRule = serde_json::from_value(object.clone()).unwrap_or_default();
    let method = path(&format!("{ROOT}/auth-methods/"), &rule.auth_method, "");
    let body = html! {
        (facts(&[
            ("Auth method", html! { a href=(method) { (rule.auth_method) } }),
            ("Selector", html! { @if rule.selector.is_empty() { "everybody" } @else { code { (rule.selector) } } }),
            ("Gives", html! { (rule.bind_type.as_str()) " " (rule.bind_name) }),
            ("Description", html! { (rule.description) }),
        ]))
        (definition(visit, manage, "binding-rules", id, &object))
    };
    Ok(single(id, ("Binding rules", "binding-rules"), body))
}

async fn save_rule(visit: &Visit) -> Result<Done, PageError> {
    let object = defined(visit)?;
    let id = object.get("ID").and_then(Value::as_str).filter(|id| !id.is_empty());
    let at = id.map_or_else(|| "/v1/acl/binding-rule".to_string(), |id| path("/v1/acl/binding-rule/", id, ""));
    let saved: AclBindingRule = visit.write(Method::PUT, &at, &[], &object).await?;
    Ok(Done::new(path(&format!("{ROOT}/binding-rules/"), &saved.id, ""), "The binding rule is saved."))
}

async fn delete_rule(visit: &Visit) -> Result<Done, PageError> {
    remove(visit, "/v1/acl/binding-rule/", visit.name("id"), "binding-rules").await
}

/// The object as JSON, in a form if it can be changed.
fn definition(visit: &Visit, manage: bool, list: &str, name: &str, object: &Value) -> Markup {
    let text = serde_json::to_string_pretty(object).unwrap_or_default();
    html! {
        h2 { "Definition" }
        @if manage { (definition_form(visit, list, &text, &html! {})) (delete_button(visit, list, name)) } @else { pre { (text) } }
    }
}

fn creation(visit: &Visit, title: &str, list: &str, draft: &Value) -> Markup {
    let text = serde_json::to_string_pretty(draft).unwrap_or_default();
    let new = html! { input type="hidden" name="new" value="true"; };
    html! { details { summary { (title) } (definition_form(visit, list, &text, &new)) } }
}

fn definition_form(visit: &Visit, list: &str, text: &str, more: &Markup) -> Markup {
    form::action(
        visit,
        &format!("{ROOT}/{list}"),
        &html! {
            (more)
            label.field { span { "Definition (JSON)" } textarea.code name="definition" rows="16" spellcheck="false" { "\n" (text) } }
            button type="submit" { "Save" }
        },
    )
}

fn defined(visit: &Visit) -> Result<Value, PageError> {
    let text = visit.required("definition", "The definition")?;
    serde_json::from_str(text).map_err(|e| PageError::Input(format!("The definition is not JSON: {e}")))
}
