//! `acl binding-rule …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::time;
use crate::object_commands::{Object, ObjectFlags, Verb, changed};
use crate::prelude::*;
use crate::render::table::{Columns, pairs};
use encamp_model::{AclBindingRule, quoted};

impl Object for AclBindingRule {
    const ARGUMENT: (&'static str, CompleteWith) = ("id", CompleteWith::Live(Objects::AclBindingRules));
    const TYPE_NAME: &'static str = "*api.ACLBindingRule";
    const SHOW: Verb = Verb {
        help: "Show a binding rule\n\nThe argument is the ID of the rule.",
        failed: "Error reading ACL binding rule",
        meta: Meta::new("acl binding-rule info").examples(&[
            ("Show a binding rule", "encamp acl binding-rule info 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
            ("Print a binding rule as JSON", "encamp acl binding-rule info -json 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List binding rules\n\nLists the rules of all auth methods.",
        failed: "Error listing ACL binding rules",
        meta: Meta::new("acl binding-rule list").examples(&[
            ("List the binding rules", "encamp acl binding-rule list"),
            ("Print them as JSON", "encamp acl binding-rule list -json"),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.ACLBindingRuleListStub";
    const NONE: Option<&'static str> = Some("No ACL binding rules found");
    const COLUMNS: &'static Columns<'static, AclBindingRule> = &[
        ("ID", &|r| r.id.clone()),
        ("Description", &|r| r.description.clone()),
        ("Auth Method", &|r| r.auth_method.clone()),
    ];
    const DELETE: Verb = Verb {
        help: "Delete a binding rule\n\nTokens that the rule gave rights to keep them until they expire. The argument \
             is the ID of the rule.",
        failed: "Error deleting ACL binding rule",
        meta: Meta::new("acl binding-rule delete").examples(&[
            ("Delete a binding rule", "encamp acl binding-rule delete 95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812"),
            (
                "Delete a binding rule with the token of an administrator",
                "encamp acl binding-rule delete -token $ADMIN_TOKEN \\\n    95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812",
            ),
        ]),
    };
    const DELETED: fn(&str) -> String = |id| format!("ACL binding rule {id} successfully deleted");

    fn print(&self, context: &mut Context<'_, '_>) {
        context.ui.output(&pairs(&[
            ("ID", self.id.clone()),
            ("Description", self.description.clone()),
            ("Auth Method", self.auth_method.clone()),
            ("Selector", quoted(&self.selector)),
            ("Bind Type", self.bind_type.to_string()),
            ("Bind Name", self.bind_name.clone()),
            ("Create Time", time(self.create_time)),
            ("Modify Time", time(self.modify_time)),
            ("Create Index", self.create_index.to_string()),
            ("Modify Index", self.modify_index.to_string()),
        ]));
    }
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
    /// A rule with what is given; with `all`, what is not given is emptied.
    fn put(&self, rule: Value, all: bool) -> Value {
        let member = |given: &Option<String>| given.clone().or(all.then(String::new));
        let changes = json!({
            "Description": member(&self.description),
            "Selector": member(&self.selector),
            "BindType": member(&self.bind_type),
            "BindName": member(&self.bind_name),
        });
        changed(rule, changes)
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
    pub(crate) flags: ObjectFlags,
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
        let rule = self.rule.put(json!({ "AuthMethod": self.auth_method }), true);
        self.flags.show(context, |c, _| {
            c.ask(c.client.create_object::<AclBindingRule>(&rule), "Error creating ACL binding rule")
        })
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
    pub(crate) flags: ObjectFlags,
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
        self.flags.show(context, |c, _| {
            let rule = self.rule.put(AclBindingRule::find(c, id)?.json, self.no_merge);
            c.ask(c.client.put_object::<AclBindingRule>(id, &rule), "Error updating ACL binding rule")
        })
    }
}
