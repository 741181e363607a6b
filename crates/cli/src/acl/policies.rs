//! `acl policy …` (`docs/spec/cli.md §13`).

use serde_json::json;

use super::{effects, read_text};
use crate::object_commands::{Object, ObjectFlags, Verb, changed};
use crate::prelude::*;
use crate::render::table::{self, Columns, pairs};
use encamp_model::{AclPolicy, AclTokenType, JobAcl, quoted};

impl Object for AclPolicy {
    const ARGUMENT: (&'static str, CompleteWith) = ("name", CompleteWith::Live(Objects::AclPolicies));
    const TYPE_NAME: &'static str = "*api.ACLPolicy";
    const SHOW: Verb = Verb {
        help: "Show a policy\n\nShows a policy with its rules. The argument is the name of the policy.",
        failed: "Error fetching info on ACL policy",
        meta: Meta::new("acl policy info").examples(&[
            ("Show a policy", "encamp acl policy info dev"),
            ("Print its rules", "encamp acl policy info -t '{{.Rules}}' dev"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List policies\n\nLists the policies; without a management token, those of the token.",
        failed: "Error listing ACL policies",
        meta: Meta::new("acl policy list").examples(&[
            ("List the policies", "encamp acl policy list"),
            ("Print their names", "encamp acl policy list -t '{{range .}}{{.Name}} {{end}}'"),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.ACLPolicyListStub";
    const NONE: Option<&'static str> = Some("No policies found");
    const COLUMNS: &'static Columns<'static, AclPolicy> =
        &[("Name", &|p| p.name.clone()), ("Description", &|p| p.description.clone())];
    const DELETE: Verb = Verb {
        help: "Delete a policy\n\nTokens and roles keep the name of the policy, which grants nothing any more. The \
             argument is the name of the policy.",
        failed: "Error deleting ACL policy",
        meta: Meta::new("acl policy delete").examples(&[
            ("Delete a policy", "encamp acl policy delete dev"),
            ("Delete the policy of requests without a token", "encamp acl policy delete anonymous"),
        ]),
    };
    const DELETED: fn(&str) -> String = |name| format!("Successfully deleted {name} policy!");

    fn print(&self, context: &mut Context<'_, '_>) {
        context.ui.output(&pairs(&[
            ("Name", self.name.clone()),
            ("Description", self.description.clone()),
            ("CreateIndex", self.create_index.to_string()),
            ("ModifyIndex", self.modify_index.to_string()),
        ]));
        if let Some(job) = &self.job_acl {
            context.ui.output_markup("\n[bold]Associated Workload[reset]");
            let rows =
                [("Namespace", &job.namespace), ("JobID", &job.job_id), ("Group", &job.group), ("Task", &job.task)];
            context.ui.output(&pairs(&rows));
        }
        context.ui.output_markup("\n[bold]Rules[reset]");
        context.ui.output("");
        context.ui.output(&self.rules);
    }
}

/// Create or update a policy
///
/// Writes a policy with rules in HCL or JSON. With -job the policy is that of workloads: tasks of the job have its rights
/// without a token, through their workload identity.
///
/// The arguments are the name of the policy and the path of a file with its rules, or - for standard input.
#[derive(Debug, clap::Parser)]
pub struct AclPolicyApply {
    /// Description of the policy
    #[arg(long, value_name = "text", default_value = "", hide_default_value = true)]
    pub description: String,
    /// Job whose tasks have the policy; needs -namespace
    #[arg(long, value_name = "id", default_value = "", hide_default_value = true)]
    pub job: String,
    /// Task group whose tasks have the policy; needs -job
    #[arg(long, value_name = "name", default_value = "", hide_default_value = true)]
    pub group: String,
    /// Task that has the policy; needs -group
    #[arg(long, value_name = "name", default_value = "", hide_default_value = true)]
    pub task: String,
    /// Show which tokens, roles and workloads would gain or lose what; write nothing
    #[arg(long)]
    pub dryrun: bool,
    /// Print the result of -dryrun as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(
        value_name = "name> <file",
        add = CompleteWith::InTurn(&[CompleteWith::Live(Objects::AclPolicies), CompleteWith::ANY_FILE])
    )]
    pub(crate) args: Vec<String>,
}

impl AclPolicyApply {
    /// The policy, or what is wrong with the flags.
    fn policy(&self, name: &str, rules: String, namespace: &str) -> Result<AclPolicy, &'static str> {
        if !self.job.is_empty() && namespace.is_empty() {
            return Err("-namespace is required if -job is set");
        }
        if !self.group.is_empty() && self.job.is_empty() {
            return Err("-job is required if -group is set");
        }
        if !self.task.is_empty() && self.group.is_empty() {
            return Err("-group is required if -task is set");
        }
        let job_acl = (!self.job.is_empty()).then(|| JobAcl {
            namespace: namespace.into(),
            job_id: self.job.clone(),
            group: self.group.clone(),
            task: self.task.clone(),
        });
        let description = self.description.clone();
        Ok(AclPolicy { name: name.into(), description, rules, job_acl, ..AclPolicy::default() })
    }
}

impl Run for AclPolicyApply {
    const META: Meta = Meta::new("acl policy apply").examples(&[
        ("Show what a policy would change", "encamp acl policy apply -dryrun dev dev.policy.hcl"),
        ("Create or update a policy", "encamp acl policy apply -description \"Developers\" dev dev.policy.hcl"),
        (
            "Give a policy to the tasks of a job",
            "encamp acl policy apply -namespace default -job web \\\n    web-tasks dev.policy.hcl",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [name, file] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <name> <file>");
        };
        let rules = match read_text(file, context) {
            Ok(rules) => rules,
            Err(e) => return context.report(&e),
        };
        let namespace = self.general.namespace(context.env).unwrap_or_default().to_string();
        let policy = match self.policy(name, rules, &namespace) {
            Ok(policy) => policy,
            Err(wrong) => return context.usage_error(wrong),
        };
        context.connected(&self.general, |c, context| {
            if self.dryrun {
                return effects::print(c, context, &policy, file, self.json);
            }
            let written = json!({ "Name": name, "Description": policy.description, "Rules": policy.rules });
            let written = changed(written, json!({ "JobACL": policy.job_acl }));
            c.ask(c.client.put_object::<AclPolicy>(name, &written), "Error writing policy")?;
            context.ui.output(&format!("Successfully wrote {} ACL policy!", quoted(name)));
            Ok(0)
        })
    }
}

/// Show the policies of the token
///
/// Lists the policies of the token of the command, and the workloads they belong to.
#[derive(Debug, clap::Parser)]
pub struct AclPolicySelf {
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
}

impl Run for AclPolicySelf {
    const META: Meta = Meta::new("acl policy self").examples(&[
        ("Show the policies of the token", "encamp acl policy self"),
        ("Print them as JSON", "encamp acl policy self -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let ObjectFlags { format, general } = &self.flags;
        context.connected(general, |c, context| {
            let formatted = format.wanted()?;
            let token = c.wait(c.client.acl_token_self());
            if !formatted && token.is_ok_and(|(token, _)| token.r#type == AclTokenType::Management) {
                context.ui.output("This is a management token. No individual policies are assigned.");
                return Ok(0);
            }
            let policies = c.ask(c.client.acl_policies_self(), "Error fetching policies")?.unwrap_or_default();
            if formatted {
                return format.print(context.ui, &policies, AclPolicy::LIST_TYPE_NAME);
            }
            if policies.is_empty() {
                context.ui.output("No policies found.");
                return Ok(0);
            }
            let columns: &Columns<'_, AclPolicy> = &[
                ("Name", &|p| p.name.clone()),
                ("Job ID", &|p| workload(p, |job| &job.job_id)),
                ("Group Name", &|p| workload(p, |job| &job.group)),
                ("Task Name", &|p| workload(p, |job| &job.task)),
            ];
            context.ui.output(&table::columns(policies.iter().map(|p| &p.object), columns));
            Ok(0)
        })
    }
}

/// A member of the workload that a policy belongs to.
fn workload(policy: &AclPolicy, member: fn(&JobAcl) -> &String) -> String {
    match policy.job_acl.as_ref().map(member) {
        None => "<unavailable>".into(),
        Some(text) if text.is_empty() => "<not specified>".into(),
        Some(text) => text.clone(),
    }
}
