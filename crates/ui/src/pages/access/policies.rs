//! Policies, and what they allow.

use axum::http::Method;
use encamp_model::acl::AclPolicy;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ROOT, delete_button, get, list_page, remove, single};
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::Done;
use crate::pages::data::answers;
use crate::parts::table::{Table, facts};
use crate::parts::{form, link};
use crate::visit::{Visit, path};

/// A policy with its rules as the API reads them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Policy {
    #[serde(flatten)]
    policy: AclPolicy,
    #[serde(rename = "RulesJSON")]
    rules: Option<Rules>,
}

answers! {
    /// The rules of a policy.
    Rules {
        namespaces: Vec<Rule>,
        node_pools: Vec<Rule>,
        host_volumes: Vec<Rule>,
        agent: Option<Rule>,
        node: Option<Rule>,
        operator: Option<Rule>,
        plugin: Option<Rule>,
        quota: Option<Rule>,
    }
    /// A rule.
    Rule {
        name: String,
        policy: String,
        capabilities: Vec<String>,
        variables: Variables,
    }
    /// Rules about variables.
    Variables {
        paths: Vec<PathRule>,
    }
    /// A rule about the variables of a path.
    PathRule {
        path_spec: String,
        capabilities: Vec<String>,
    }
}

pub(super) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let read = visit.read::<Vec<AclPolicy>>("/v1/acl/policies", &[]).await;
    let content = read.map(|policies| {
        let mut table =
            Table::new("Policies", &["Name", "Description"], html! { "No policies that your token may see." });
        for policy in &policies {
            table.row([
                html! { a href=(path(&format!("{ROOT}/policies/"), &policy.name, "")) { (policy.name) } },
                html! { (policy.description) },
            ]);
        }
        html! {
            (table.markup())
            @if manage { details { summary { "New policy" } (edit(visit, &draft())) } }
        }
    });
    list_page(visit, "Access: policies", content).await
}

/// A policy to begin with.
fn draft() -> AclPolicy {
    let rules = "namespace \"default\" {\n  policy = \"read\"\n}\n".to_string();
    AclPolicy { rules, ..AclPolicy::default() }
}

pub(super) async fn policy(visit: &Visit) -> Result<Page, PageError> {
    let manage = visit.may_manage();
    let name = visit.name("name");
    let Policy { policy, rules } = get(visit, "/v1/acl/policy/", "policy", name).await?;
    let body = html! {
        (facts(&[
            ("Description", html! { (policy.description) }),
            ("Workload", html! {
                @if let Some(of) = &policy.job_acl {
                    "Tasks of " (link::job(&of.namespace, &of.job_id)) @if !of.group.is_empty() { ", group " (of.group) } @if !of.task.is_empty() { ", task " (of.task) } " have it."
                } @else { "Tokens and roles name it." }
            }),
        ]))
        h2 { "What it allows" }
        (explained(&rules.unwrap_or_default()))
        h2 { "Rules" }
        @if manage { (edit(visit, &policy)) (delete_button(visit, "policies", name)) } @else { pre { (policy.rules) } }
    };
    Ok(single(name, ("Policies", "policies"), body))
}

fn explained(rules: &Rules) -> Markup {
    let empty = html! { "Nothing: the policy has no rules." };
    let mut table = Table::new("What the policy allows", &["Of", "Name", "Level", "Capabilities"], empty);
    let mut add = |kind: &str, rule: &Rule| {
        table.row([
            html! { (kind) },
            html! { @if rule.name.is_empty() { "all" } @else { code { (rule.name) } } },
            html! { @if rule.policy.is_empty() { "-" } @else { (rule.policy) } },
            html! { (rule.capabilities.join(", ")) },
        ]);
        for path in &rule.variables.paths {
            table.row([
                html! { "variables" },
                html! { code { (path.path_spec) } " in " code { (rule.name) } },
                html! { "-" },
                html! { (path.capabilities.join(", ")) },
            ]);
        }
    };
    for (kind, list) in
        [("namespace", &rules.namespaces), ("node pool", &rules.node_pools), ("host volume", &rules.host_volumes)]
    {
        list.iter().for_each(|rule| add(kind, rule));
    }
    let single = [
        ("nodes", &rules.node),
        ("agents", &rules.agent),
        ("operation of the cluster", &rules.operator),
        ("storage plugins", &rules.plugin),
        ("quotas", &rules.quota),
    ];
    for (kind, rule) in single {
        rule.iter().for_each(|rule| add(kind, rule));
    }
    table.markup()
}

fn edit(visit: &Visit, policy: &AclPolicy) -> Markup {
    let job = policy.job_acl.clone().unwrap_or_default();
    form::action(
        visit,
        &format!("{ROOT}/policies"),
        &html! {
            @if policy.name.is_empty() { (form::text("name", "Name", "", "read-jobs")) } @else { input type="hidden" name="name" value=(policy.name); }
            (form::text("description", "Description", &policy.description, ""))
            label.field { span { "Rules" } textarea.code name="rules" rows="12" spellcheck="false" { "\n" (policy.rules) } }
            details open[policy.job_acl.is_some()] {
                summary { "For the tasks of a job" }
                (form::text("job_namespace", "Namespace", &job.namespace, ""))
                (form::text("job", "Job ID", &job.job_id, ""))
                (form::text("group", "Task group", &job.group, ""))
                (form::text("task", "Task", &job.task, ""))
            }
            button type="submit" { "Save" }
        },
    )
}

pub(super) async fn save(visit: &Visit) -> Result<Done, PageError> {
    let name = visit.required("name", "The name")?;
    let field = |name| visit.field(name).unwrap_or_default();
    let job = visit.field("job_namespace").map(|namespace| {
        json!({ "Namespace": namespace, "JobID": field("job"), "Group": field("group"), "Task": field("task") })
    });
    let rules = field("rules").replace("\r\n", "\n");
    let policy = json!({ "Name": name, "Description": field("description"), "Rules": rules, "JobACL": job });
    let _: Value = visit.write(Method::PUT, &path("/v1/acl/policy/", name, ""), &[], &policy).await?;
    Ok(Done::new(path(&format!("{ROOT}/policies/"), name, ""), "The policy is saved."))
}

pub(super) async fn delete(visit: &Visit) -> Result<Done, PageError> {
    remove(visit, "/v1/acl/policy/", visit.name("name"), "policies").await
}
