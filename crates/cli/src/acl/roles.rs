//! `acl role …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::policy_names;
use crate::object_commands::{Object, ObjectFlags, Verb, changed};
use crate::prelude::*;
use crate::render::table::{Columns, pairs};
use encamp_api::Received;
use encamp_model::{AclRole, AclRolePolicyLink};

impl Object for AclRole {
    const ARGUMENT: (&'static str, CompleteWith) = ("id", CompleteWith::Live(Objects::AclRoles));
    const TYPE_NAME: &'static str = "*api.ACLRole";
    const SHOW: Verb = Verb {
        help: "Show a role\n\nThe argument is the ID of the role.",
        failed: "Error reading ACL role",
        meta: Meta::new("acl role info").examples(&[
            ("Show a role", "encamp acl role info 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
            ("Show the role of a name", "encamp acl role info -by-name developers"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List roles\n\nLists the roles; without a management token, those of the token.",
        failed: "Error listing ACL roles",
        meta: Meta::new("acl role list").examples(&[
            ("List the roles", "encamp acl role list"),
            ("Print them as JSON", "encamp acl role list -json"),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.ACLRoleListStub";
    const NONE: Option<&'static str> = Some("No ACL roles found");
    const COLUMNS: &'static Columns<'static, AclRole> = &[
        ("ID", &|r| r.id.clone()),
        ("Name", &|r| r.name.clone()),
        ("Description", &|r| r.description.clone()),
        ("Policies", &policies),
    ];
    const DELETE: Verb = Verb {
        help: "Delete a role\n\nTokens keep the ID of the role, which grants nothing any more. The argument is the ID \
             of the role.",
        failed: "Error deleting ACL role",
        meta: Meta::new("acl role delete").examples(&[
            ("Delete a role", "encamp acl role delete 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
            (
                "Delete a role with the token of an administrator",
                "encamp acl role delete -token $ADMIN_TOKEN \\\n    6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264",
            ),
        ]),
    };
    const DELETED: fn(&str) -> String = |id| format!("ACL role {id} successfully deleted");

    fn print(&self, context: &mut Context<'_, '_>) {
        context.ui.output(&pairs(&[
            ("ID", self.id.clone()),
            ("Name", self.name.clone()),
            ("Description", self.description.clone()),
            ("Policies", policies(self)),
            ("Create Index", self.create_index.to_string()),
            ("Modify Index", self.modify_index.to_string()),
        ]));
    }
}

fn policies(role: &AclRole) -> String {
    let mut names: Vec<String> = policy_names(role).collect();
    names.sort_unstable();
    names.join(",")
}

fn links(names: &[String]) -> impl Iterator<Item = AclRolePolicyLink> {
    names.iter().map(|name| AclRolePolicyLink { name: name.clone() })
}

/// Create a role
///
/// A role is a named set of policies; tokens refer to it by its ID or name.
#[derive(Debug, clap::Parser)]
pub struct AclRoleCreate {
    /// Name of the role
    #[arg(long, value_name = "name", default_value = "", hide_default_value = true)]
    pub name: String,
    /// Description of the role
    #[arg(long, value_name = "text", default_value = "", hide_default_value = true)]
    pub description: String,
    /// Policy of the role; can be repeated
    #[arg(long, value_name = "name", add = CompleteWith::Live(Objects::AclPolicies))]
    pub policy: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
}

impl Run for AclRoleCreate {
    const META: Meta = Meta::new("acl role create").examples(&[
        ("Create a role", "encamp acl role create -name operators -policy ops"),
        ("Create a role with several policies", "encamp acl role create -name release -policy ops -policy dev"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.name.is_empty() {
            return context.usage_error("ACL role name must be specified using the -name flag");
        }
        if self.policy.is_empty() {
            return context.usage_error("At least one policy name must be specified using the -policy flag");
        }
        let policies: Vec<_> = links(&self.policy).collect();
        let role = json!({ "Name": self.name, "Description": self.description, "Policies": policies });
        self.flags.show(context, |c, _| c.ask(c.client.create_object::<AclRole>(&role), "Error creating ACL role"))
    }
}

/// Update a role
///
/// Changes what is given; policies are added to those of the role. With -no-merge the role is replaced. The argument is
/// the ID of the role.
#[derive(Debug, clap::Parser)]
pub struct AclRoleUpdate {
    /// Name of the role
    #[arg(long, value_name = "name")]
    pub name: Option<String>,
    /// Description of the role
    #[arg(long, value_name = "text")]
    pub description: Option<String>,
    /// Policy of the role; can be repeated
    #[arg(long, value_name = "name", add = CompleteWith::Live(Objects::AclPolicies))]
    pub policy: Vec<String>,
    /// Replace the role by what is given
    #[arg(long)]
    pub no_merge: bool,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::AclRoles))]
    pub(crate) id: String,
}

impl AclRoleUpdate {
    /// The role with the changes.
    fn changed(&self, role: Received<AclRole>) -> Value {
        let member = |given: &Option<String>| given.clone().or(self.no_merge.then(String::new));
        let mut policies = if self.no_merge { Vec::new() } else { role.object.policies };
        for link in links(&self.policy) {
            if !policies.contains(&link) {
                policies.push(link);
            }
        }
        let (name, description) = (member(&self.name), member(&self.description));
        changed(role.json, json!({ "Name": name, "Description": description, "Policies": policies }))
    }
}

impl Run for AclRoleUpdate {
    const META: Meta = Meta::new("acl role update").examples(&[
        ("Add a policy to a role", "encamp acl role update -policy ops 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
        (
            "Replace the policies of a role",
            "encamp acl role update -no-merge -name developers -policy dev \\\n    \
                 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = &self.id;
        if self.no_merge && (self.name.is_none() || self.policy.is_empty()) {
            return context.usage_error("-no-merge needs -name and at least one -policy");
        }
        if self.name.is_none() && self.description.is_none() && self.policy.is_empty() {
            return context.usage_error("Please provide at least one flag to update the ACL role");
        }
        self.flags.show(context, |c, _| {
            let role = self.changed(AclRole::find(c, id)?);
            c.ask(c.client.put_object::<AclRole>(id, &role), "Error updating ACL role")
        })
    }
}

/// Shows a role.
#[derive(Debug, clap::Parser)]
#[command(about = AclRole::SHOW.about(), long_about = AclRole::SHOW.help)]
pub struct AclRoleInfo {
    /// Take the argument for the name of the role
    #[arg(long)]
    pub by_name: bool,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
    #[arg(
        value_name = "id",
        add = CompleteWith::IfFlag(
            "by-name",
            &CompleteWith::Live(Objects::AclRoleNames),
            &CompleteWith::Live(Objects::AclRoles),
        ),
    )]
    pub(crate) id: String,
}

impl Run for AclRoleInfo {
    const META: Meta = AclRole::SHOW.meta;

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = &self.id;
        self.flags.show(context, |c, _| match self.by_name {
            true => c.ask(c.client.acl_role_by_name(id), AclRole::SHOW.failed),
            false => AclRole::find(c, id),
        })
    }
}
