//! `scaling policy list` and `scaling policy info` (`docs/spec/cli.md §12.4`).

use super::lookup_id;
use super::prelude::*;
use super::render::table::{Columns, columns, pairs};
use super::render::{json, values};
use encamp_api::{Query, Received, path};
use encamp_model::ScalingPolicy;
use encamp_model::responses::ScalingPolicyListStub;

/// List scaling policies
///
/// Lists the scaling policies of all jobs, or of one job.
#[derive(Debug, clap::Parser)]
pub struct ScalingPolicyList {
    /// List only policies of this job
    #[arg(long, value_name = "job")]
    pub job: Option<String>,
    /// List only policies of this type
    #[arg(long = "type", value_name = "type", add = CompleteWith::Words(&["horizontal"]))]
    pub kind: Option<String>,
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for ScalingPolicyList {
    const META: Meta = Meta::new("scaling policy list").examples(&[
        ("List the scaling policies", "encamp scaling policy list"),
        ("List those of one job as JSON", "encamp scaling policy list -job web -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let listed = self.list(context);
        context.end(listed)
    }
}

impl ScalingPolicyList {
    fn list(&self, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.list.format.wanted()?;
        let connection = Connection::new(&self.general, context.env)?;
        let mut query = Query::default();
        for (name, value) in [("job", &self.job), ("type", &self.kind)] {
            if let Some(value) = value.as_deref().filter(|v| !v.is_empty()) {
                query = query.with(name, value);
            }
        }
        let read = connection.client.rows::<ScalingPolicyListStub>("/v1/scaling/policies", &query);
        let mut rows = connection.ask(read, "Error listing scaling policies")?;
        if formatted {
            return self.list.format.print(context.ui, &rows, "[]*api.ScalingPolicyListStub");
        }
        if rows.is_empty() {
            context.ui.output("No policies found");
            return Ok(0);
        }
        context.ui.output(&listed(&mut rows, self.list.verbose));
        Ok(0)
    }
}

/// The table of policies by target.
pub(super) fn listed(policies: &mut [ScalingPolicyListStub], verbose: bool) -> String {
    policies.sort_by(|a, b| (target(&a.target), &a.id).cmp(&(target(&b.target), &b.id)));
    let shown: &Columns<'_, ScalingPolicyListStub> = &[
        ("ID", &|p| values::id(&p.id, verbose).into()),
        ("Enabled", &|p| p.enabled.to_string()),
        ("Type", &|p| p.r#type.to_string()),
        ("Target", &|p| target(&p.target)),
    ];
    columns(&*policies, shown)
}

/// The target of a policy, from namespace to task group.
fn target(parts: &std::collections::BTreeMap<String, String>) -> String {
    const ORDER: [&str; 3] = ["Namespace", "Job", "Group"];
    let known = ORDER.iter().filter_map(|key| Some((*key, parts.get(*key)?)));
    let others = parts.iter().filter(|(key, _)| !ORDER.contains(&key.as_str())).map(|(k, v)| (k.as_str(), v));
    known.chain(others).map(|(key, value)| format!("{key}:{value}")).collect::<Vec<_>>().join(",")
}

/// Display a scaling policy
///
/// Shows the target and the bounds of a scaling policy. The argument is the policy ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct ScalingPolicyInfo {
    /// Show the full identifier
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "policy")]
    pub(crate) given: String,
}

impl Run for ScalingPolicyInfo {
    const META: Meta = Meta::new("scaling policy info").examples(&[
        ("Show a scaling policy", "encamp scaling policy info 4ae3b1c2"),
        ("Print the maximum count that a policy allows", "encamp scaling policy info -t '{{.Max}}' 4ae3b1c2"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let shown = self.show(&self.given, context);
        context.end(shown)
    }
}

impl ScalingPolicyInfo {
    fn show(&self, given: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let formatted = self.format.wanted()?;
        let connection = Connection::new(&self.general, context.env)?;
        let id = lookup_id::scaling_policy(&connection, given)?;
        let (to, query) = (path("/v1/scaling/policy/", &id, ""), Query::default());
        let read = connection.client.get::<Received<ScalingPolicy>>(&to, &query);
        let policy = connection.ask(read, "Error querying scaling policy")?;
        if formatted {
            return self.format.print(context.ui, &policy, "*api.ScalingPolicy");
        }
        let rows = [
            ("ID", values::id(&policy.id, self.verbose).to_string()),
            ("Enabled", policy.enabled.to_string()),
            ("Target", target(&policy.target)),
            ("Min", policy.min.to_string()),
            ("Max", policy.max.to_string()),
        ];
        let rules = match policy.policy.as_ref().filter(|p| !p.is_empty()) {
            None => "<empty>".into(),
            Some(rules) => json::indented(rules).map_err(CommandError::new)?,
        };
        context.ui.output(&format!("{}\n\nPolicy:\n{rules}", pairs(&rows)));
        Ok(0)
    }
}
