//! `acl policy apply -dryrun` (`docs/spec/cli.md §13`): who would gain or lose what by a new text of a policy.

use std::collections::BTreeMap;

use serde::Serialize;

use super::policy_names;
use crate::connection::Connection;
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::object_commands::Object;
use crate::render::json;
use crate::render::table::{Form, table};
use encamp_acl::difference::{Change, difference};
use encamp_acl::{Acl, Rules};
use encamp_api::{Query, Received};
use encamp_model::{AclPolicy, AclRole, AclToken, AclTokenType};

/// What would change for one holder of the policy.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Effect {
    /// `Token`, `Role` or `Workload`.
    kind: &'static str,
    /// Accessor, ID, or job with group and task.
    id: String,
    name: String,
    changes: Vec<Change>,
}

/// The policies and who has them, as the servers tell.
struct Cluster {
    rules: BTreeMap<String, Rules>,
    tokens: Vec<Received<AclToken>>,
    roles: BTreeMap<String, AclRole>,
}

impl Cluster {
    fn read(c: &Connection) -> CommandResult<Cluster> {
        let all = Query::default();
        let mut rules = BTreeMap::new();
        for stub in c.ask(c.client.objects::<AclPolicy>(&all), AclPolicy::LIST.failed)? {
            let policy = AclPolicy::find(c, &stub.name)?;
            rules.insert(stub.object.name, Rules::parse_stored(&policy.rules));
        }
        let tokens = c.ask(c.client.objects(&all), AclToken::LIST.failed)?;
        let roles = c.ask(c.client.objects::<AclRole>(&all), AclRole::LIST.failed)?;
        Ok(Cluster { rules, tokens, roles: roles.into_iter().map(|r| (r.id.clone(), r.object)).collect() })
    }

    /// The policies of a token, those of its roles included.
    fn of_token(&self, token: &AclToken) -> Vec<String> {
        let roles = token.roles.iter().filter_map(|link| self.roles.get(&link.id));
        token.policies.iter().cloned().chain(roles.flat_map(policy_names)).collect()
    }

    fn acl(&self, policies: &[String], changed: Option<(&str, &Rules)>) -> Acl {
        let rules = |name: &String| match changed {
            Some((of, rules)) if of == name => Some(rules),
            _ => self.rules.get(name),
        };
        Acl::merge(policies.iter().filter_map(|name| Some((name.as_str(), rules(name)?))))
    }

    fn effect(
        &self,
        kind: &'static str,
        id: &str,
        name: &str,
        policies: &[String],
        new: (&str, &Rules),
    ) -> Option<Effect> {
        if !policies.iter().any(|p| p == new.0) {
            return None;
        }
        let changes = difference(&self.acl(policies, None), &self.acl(policies, Some(new)));
        (!changes.is_empty()).then(|| Effect { kind, id: id.into(), name: name.into(), changes })
    }

    fn effects(&self, policy: &AclPolicy, rules: &Rules) -> Vec<Effect> {
        let new = (policy.name.as_str(), rules);
        let clients = self.tokens.iter().filter(|t| t.r#type != AclTokenType::Management);
        let tokens = clients
            .filter_map(|token| self.effect("Token", &token.accessor_id, &token.name, &self.of_token(token), new));
        let roles = self.roles.values().filter_map(|role| {
            let policies: Vec<String> = policy_names(role).collect();
            self.effect("Role", &role.id, &role.name, &policies, new)
        });
        let own = [policy.name.clone()];
        let workload = policy.job_acl.as_ref().and_then(|job| {
            let parts = [&job.namespace, &job.job_id, &job.group, &job.task].map(String::as_str);
            let id = parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/");
            self.effect("Workload", &id, "", &own, new)
        });
        tokens.chain(roles).chain(workload).collect()
    }
}

/// Prints what a policy would change. Errors of its rules are found before anything is asked.
pub(super) fn print(
    c: &Connection,
    context: &mut Context<'_, '_>,
    policy: &AclPolicy,
    file: &str,
    as_json: bool,
) -> CommandResult<u8> {
    let rules = Rules::parse(&policy.rules).map_err(|e| CommandError::new(format!("{file}: {e}")))?;
    let effects = Cluster::read(c)?.effects(policy, &rules);
    if as_json {
        let value = serde_json::to_value(&effects).map_err(CommandError::new)?;
        let text = json::indented(&value).map_err(CommandError::new)?;
        context.ui.output(&text);
        return Ok(0);
    }
    if effects.is_empty() {
        context.ui.output("The policy is valid. It would change nothing for any token, role or workload.");
        return Ok(0);
    }
    let mut lines = vec!["Kind|ID|Name|Rule|Gains|Loses".to_string()];
    for effect in &effects {
        for change in &effect.changes {
            let words = |words: &[&str]| if words.is_empty() { "-".to_string() } else { words.join(",") };
            let id = effect.id.get(..8).filter(|_| effect.kind != "Workload").unwrap_or(&effect.id);
            let (gains, loses) = (words(&change.gained), words(&change.lost));
            lines.push(format!("{}|{id}|{}|{}|{gains}|{loses}", effect.kind, effect.name, change.rule));
        }
    }
    context.ui.output("The policy is valid. It would change:");
    context.ui.output("");
    context.ui.output(&table(&lines, Form::List));
    Ok(0)
}
