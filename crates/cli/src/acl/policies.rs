//! `acl policy …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::{ObjectKind, asked, effects, read_text, shown};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::context::Context;
use crate::data::text;
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::{self, Columns, pairs};
use encamp_api::AclKind;
use encamp_model::quoted;

const POLICY: ObjectKind = ObjectKind {
    kind: AclKind::Policy,
    type_name: "*api.ACLPolicy",
    row_type_name: "[]*api.ACLPolicyListStub",
    reading: "Error fetching info on ACL policy",
    creating: "Error writing policy",
    updating: "Error writing policy",
    deleting: "Error deleting ACL policy",
    listing: "Error listing ACL policies",
    none: "No policies found",
    print,
};

/// Prints a policy with its rules.
fn print(context: &mut Context<'_, '_>, policy: &Value) {
    context.ui.output(&pairs(&[
        ("Name", text(policy, "Name").to_string()),
        ("Description", text(policy, "Description").to_string()),
        ("CreateIndex", shown(policy, "CreateIndex")),
        ("ModifyIndex", shown(policy, "ModifyIndex")),
    ]));
    if let Some(job) = policy.get("JobACL").filter(|j| j.is_object()) {
        context.ui.output_markup("\n[bold]Associated Workload[reset]");
        let rows = ["Namespace", "JobID", "Group", "Task"].map(|name| (name, text(job, name)));
        context.ui.output(&pairs(&rows));
    }
    context.ui.output_markup("\n[bold]Rules[reset]");
    context.ui.output("");
    context.ui.output(text(policy, "Rules"));
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
    fn policy(&self, name: &str, rules: &str, namespace: &str) -> Result<Value, &'static str> {
        let mut policy = json!({ "Name": name, "Description": self.description, "Rules": rules });
        if !self.job.is_empty() && namespace.is_empty() {
            return Err("-namespace is required if -job is set");
        }
        if !self.group.is_empty() && self.job.is_empty() {
            return Err("-job is required if -group is set");
        }
        if !self.task.is_empty() && self.group.is_empty() {
            return Err("-group is required if -task is set");
        }
        if !self.job.is_empty() {
            policy["JobACL"] =
                json!({ "Namespace": namespace, "JobID": self.job, "Group": self.group, "Task": self.task });
        }
        Ok(policy)
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
        let policy = match self.policy(name, &rules, &namespace) {
            Ok(policy) => policy,
            Err(wrong) => return context.usage_error(wrong),
        };
        context.connected(&self.general, |c, context| {
            if self.dryrun {
                return effects::print(c, context, &policy, file, self.json);
            }
            POLICY.put(c, name, &policy)?;
            context.ui.output(&format!("Successfully wrote {} ACL policy!", quoted(name)));
            Ok(0)
        })
    }
}

/// List policies
///
/// Lists the policies; without a management token, those of the token.
#[derive(Debug, clap::Parser)]
pub struct AclPolicyList {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclPolicyList {
    const META: Meta = Meta::new("acl policy list").examples(&[
        ("List the policies", "encamp acl policy list"),
        ("Print their names", "encamp acl policy list -t '{{range .}}{{.Name}} {{end}}'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let columns: &Columns<'_, Value> =
            &[("Name", &|p| text(p, "Name").into()), ("Description", &|p| text(p, "Description").into())];
        POLICY.list(context, (&self.general, &self.format), columns)
    }
}

/// Show a policy
///
/// Shows a policy with its rules. The argument is the name of the policy.
#[derive(Debug, clap::Parser)]
pub struct AclPolicyInfo {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "name", add = CompleteWith::Live(Objects::AclPolicies))]
    pub(crate) name: String,
}

impl Run for AclPolicyInfo {
    const META: Meta = Meta::new("acl policy info").examples(&[
        ("Show a policy", "encamp acl policy info dev"),
        ("Print its rules", "encamp acl policy info -t '{{.Rules}}' dev"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        POLICY.info(context, (&self.general, &self.format), &self.name)
    }
}

/// Delete a policy
///
/// Tokens and roles keep the name of the policy, which grants nothing any more. The argument is the name of the policy.
#[derive(Debug, clap::Parser)]
pub struct AclPolicyDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "name", add = CompleteWith::Live(Objects::AclPolicies))]
    pub(crate) name: String,
}

impl Run for AclPolicyDelete {
    const META: Meta = Meta::new("acl policy delete").examples(&[
        ("Delete a policy", "encamp acl policy delete dev"),
        ("Delete the policy of requests without a token", "encamp acl policy delete anonymous"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        POLICY.delete(context, &self.general, &self.name, |name| format!("Successfully deleted {name} policy!"))
    }
}

/// Show the policies of the token
///
/// Lists the policies of the token of the command, and the workloads they belong to.
#[derive(Debug, clap::Parser)]
pub struct AclPolicySelf {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclPolicySelf {
    const META: Meta = Meta::new("acl policy self").examples(&[
        ("Show the policies of the token", "encamp acl policy self"),
        ("Print them as JSON", "encamp acl policy self -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let formatted = self.format.wanted()?;
            let token = c.wait(c.client.acl_token_self());
            if !formatted && token.is_ok_and(|(token, _)| text(&token, "Type") == "management") {
                context.ui.output("This is a management token. No individual policies are assigned.");
                return Ok(0);
            }
            let policies = asked(c, c.client.acl_policies_self(), "Error fetching policies")?.unwrap_or_default();
            if formatted {
                return self.format.print(context.ui, &policies, POLICY.row_type_name);
            }
            if policies.is_empty() {
                context.ui.output("No policies found.");
                return Ok(0);
            }
            let columns: &Columns<'_, Value> = &[
                ("Name", &|p| text(p, "Name").into()),
                ("Job ID", &|p| workload(p, "JobID")),
                ("Group Name", &|p| workload(p, "Group")),
                ("Task Name", &|p| workload(p, "Task")),
            ];
            context.ui.output(&table::columns(&policies, columns));
            Ok(0)
        })
    }
}

/// A member of the workload that a policy belongs to.
fn workload(policy: &Value, member: &str) -> String {
    match policy.get("JobACL").filter(|j| j.is_object()) {
        None => "<unavailable>".into(),
        Some(job) => match text(job, member) {
            "" => "<not specified>".into(),
            given => given.into(),
        },
    }
}
