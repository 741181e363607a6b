//! `acl binding-rule …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::{ObjectKind, shown, time};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::context::Context;
use crate::data::text;
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::{Columns, pairs};
use encamp_api::AclKind;
use encamp_model::quoted;

const RULE: ObjectKind = ObjectKind {
    kind: AclKind::BindingRule,
    type_name: "*api.ACLBindingRule",
    row_type_name: "[]*api.ACLBindingRuleListStub",
    reading: "Error reading ACL binding rule",
    creating: "Error creating ACL binding rule",
    updating: "Error updating ACL binding rule",
    deleting: "Error deleting ACL binding rule",
    listing: "Error listing ACL binding rules",
    none: "No ACL binding rules found",
    print: |context, object| context.ui.output(&block(object)),
};

fn block(rule: &Value) -> String {
    pairs(&[
        ("ID", text(rule, "ID").to_string()),
        ("Description", text(rule, "Description").to_string()),
        ("Auth Method", text(rule, "AuthMethod").to_string()),
        ("Selector", quoted(text(rule, "Selector"))),
        ("Bind Type", text(rule, "BindType").to_string()),
        ("Bind Name", text(rule, "BindName").to_string()),
        ("Create Time", time(rule, "CreateTime")),
        ("Modify Time", time(rule, "ModifyTime")),
        ("Create Index", shown(rule, "CreateIndex")),
        ("Modify Index", shown(rule, "ModifyIndex")),
    ])
}

/// What is given of a binding rule.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RuleFlags {
    /// Description of the rule
    #[arg(long, value_name = "text")]
    description: Option<String>,
    /// Filter expression over value.… and list.… that a login has to match. Default: all match
    #[arg(long, value_name = "expression")]
    selector: Option<String>,
    /// What the rule gives: role, policy or management
    #[arg(long, value_name = "type", add = CompleteWith::Words(&["management", "policy", "role"]))]
    bind_type: Option<String>,
    /// Name of the role or policy; may contain ${value.…}
    #[arg(long, value_name = "name")]
    bind_name: Option<String>,
}

impl RuleFlags {
    /// Puts what is given into a rule; with `all`, what is not given is emptied.
    fn put(&self, rule: &mut Value, all: bool) {
        let members = [
            ("Description", &self.description),
            ("Selector", &self.selector),
            ("BindType", &self.bind_type),
            ("BindName", &self.bind_name),
        ];
        for (member, value) in members {
            if value.is_some() || all {
                rule[member] = json!(value.clone().unwrap_or_default());
            }
        }
    }
}

/// Create a binding rule
///
/// A binding rule gives a role, a policy or management rights to those who log in with an auth method and match its
/// selector.
#[derive(Debug, clap::Parser)]
pub struct AclBindingRuleCreate {
    /// Auth method of the rule
    #[arg(
        long,
        value_name = "name",
        default_value = "",
        hide_default_value = true,
        add = CompleteWith::Live(Objects::AclAuthMethods)
    )]
    pub auth_method: String,
    #[command(flatten)]
    pub(crate) rule: RuleFlags,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclBindingRuleCreate {
    const META: Meta = Meta::new("acl binding-rule create").examples(&[
        (
            "Give a role to one team",
            "encamp acl binding-rule create -auth-method ci -bind-type role \\\n    \
                 -bind-name developers -selector 'value.team == \"web\"'",
        ),
        (
            "Give everybody the policy of their team",
            "encamp acl binding-rule create -auth-method ci -bind-type policy \\\n    \
                 -bind-name 'team-${value.team}'",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.auth_method.is_empty() {
            return context.usage_error("ACL binding rule auth method must be specified using the -auth-method flag");
        }
        let mut rule = json!({ "AuthMethod": self.auth_method });
        self.rule.put(&mut rule, true);
        RULE.show(context, (&self.general, &self.format), |c, _| RULE.create(c, &rule))
    }
}

/// Update a binding rule
///
/// Changes what is given. With -no-merge, what is not given is emptied. The argument is the ID of the rule.
#[derive(Debug, clap::Parser)]
pub struct AclBindingRuleUpdate {
    #[command(flatten)]
    pub(crate) rule: RuleFlags,
    /// Replace the rule by what is given
    #[arg(long)]
    pub no_merge: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::AclBindingRules))]
    pub(crate) id: String,
}

impl Run for AclBindingRuleUpdate {
    const META: Meta = Meta::new("acl binding-rule update").examples(&[
        (
            "Change the role",
            "encamp acl binding-rule update -bind-name developers \\\n    95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
        ),
        (
            "Describe a binding rule",
            "encamp acl binding-rule update -description \"Web team\" \\\n    \
                 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = &self.id;
        RULE.show(context, (&self.general, &self.format), |c, _| {
            let mut rule = RULE.read(c, id)?;
            self.rule.put(&mut rule, self.no_merge);
            RULE.put(c, id, &rule)
        })
    }
}

/// Show a binding rule
///
/// The argument is the ID of the rule.
#[derive(Debug, clap::Parser)]
pub struct AclBindingRuleInfo {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::AclBindingRules))]
    pub(crate) id: String,
}

impl Run for AclBindingRuleInfo {
    const META: Meta = Meta::new("acl binding-rule info").examples(&[
        ("Show a binding rule", "encamp acl binding-rule info 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
        ("Print a binding rule as JSON", "encamp acl binding-rule info -json 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        RULE.info(context, (&self.general, &self.format), &self.id)
    }
}

/// Delete a binding rule
///
/// Tokens that the rule gave rights to keep them until they expire. The argument is the ID of the rule.
#[derive(Debug, clap::Parser)]
pub struct AclBindingRuleDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::AclBindingRules))]
    pub(crate) id: String,
}

impl Run for AclBindingRuleDelete {
    const META: Meta = Meta::new("acl binding-rule delete").examples(&[
        ("Delete a binding rule", "encamp acl binding-rule delete 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
        (
            "Delete a binding rule with the token of an administrator",
            "encamp acl binding-rule delete -token $ADMIN_TOKEN \\\n    95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        RULE.delete(context, &self.general, &self.id, |id| format!("ACL binding rule {id} successfully deleted"))
    }
}

/// List binding rules
///
/// Lists the rules of all auth methods.
#[derive(Debug, clap::Parser)]
pub struct AclBindingRuleList {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclBindingRuleList {
    const META: Meta = Meta::new("acl binding-rule list").examples(&[
        ("List the binding rules", "encamp acl binding-rule list"),
        ("Print them as JSON", "encamp acl binding-rule list -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let columns: &Columns<'_, Value> = &[
            ("ID", &|r| text(r, "ID").into()),
            ("Description", &|r| text(r, "Description").into()),
            ("Auth Method", &|r| text(r, "AuthMethod").into()),
        ];
        RULE.list(context, (&self.general, &self.format), columns)
    }
}
