//! `acl role …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::{ObjectKind, asked, policy_names, shown};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::context::Context;
use crate::data::{list, text};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::{Columns, pairs};
use encamp_api::AclKind;

const ROLE: ObjectKind = ObjectKind {
    kind: AclKind::Role,
    type_name: "*api.ACLRole",
    row_type_name: "[]*api.ACLRoleListStub",
    reading: "Error reading ACL role",
    creating: "Error creating ACL role",
    updating: "Error updating ACL role",
    deleting: "Error deleting ACL role",
    listing: "Error listing ACL roles",
    none: "No ACL roles found",
    print: |context, object| context.ui.output(&block(object)),
};

fn policies(role: &Value) -> String {
    let mut names = policy_names(role);
    names.sort_unstable();
    names.join(",")
}

fn block(role: &Value) -> String {
    pairs(&[
        ("ID", text(role, "ID").to_string()),
        ("Name", text(role, "Name").to_string()),
        ("Description", text(role, "Description").to_string()),
        ("Policies", policies(role)),
        ("Create Index", shown(role, "CreateIndex")),
        ("Modify Index", shown(role, "ModifyIndex")),
    ])
}

fn links(names: &[String]) -> Vec<Value> {
    names.iter().map(|name| json!({ "Name": name })).collect()
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
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
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
        let role = json!({ "Name": self.name, "Description": self.description, "Policies": links(&self.policy) });
        ROLE.show(context, (&self.general, &self.format), |c, _| ROLE.create(c, &role))
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
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::AclRoles))]
    pub(crate) id: String,
}

impl AclRoleUpdate {
    /// The role with the changes.
    fn changed(&self, mut role: Value) -> Value {
        for (member, value) in [("Name", &self.name), ("Description", &self.description)] {
            if value.is_some() || self.no_merge {
                role[member] = json!(value.clone().unwrap_or_default());
            }
        }
        let mut all = if self.no_merge { Vec::new() } else { list(&role, "Policies").to_vec() };
        for link in links(&self.policy) {
            if !all.contains(&link) {
                all.push(link);
            }
        }
        role["Policies"] = json!(all);
        role
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
        ROLE.show(context, (&self.general, &self.format), |c, _| {
            let role = self.changed(ROLE.read(c, id)?);
            ROLE.put(c, id, &role)
        })
    }
}

/// Show a role
///
/// The argument is the ID of the role.
#[derive(Debug, clap::Parser)]
pub struct AclRoleInfo {
    /// Take the argument for the name of the role
    #[arg(long)]
    pub by_name: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
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
    const META: Meta = Meta::new("acl role info").examples(&[
        ("Show a role", "encamp acl role info 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
        ("Show the role of a name", "encamp acl role info -by-name developers"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = &self.id;
        ROLE.show(context, (&self.general, &self.format), |c, _| match self.by_name {
            true => asked(c, c.client.acl_role_by_name(id), ROLE.reading),
            false => ROLE.read(c, id),
        })
    }
}

/// Delete a role
///
/// Tokens keep the ID of the role, which grants nothing any more. The argument is the ID of the role.
#[derive(Debug, clap::Parser)]
pub struct AclRoleDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "id", add = CompleteWith::Live(Objects::AclRoles))]
    pub(crate) id: String,
}

impl Run for AclRoleDelete {
    const META: Meta = Meta::new("acl role delete").examples(&[
        ("Delete a role", "encamp acl role delete 6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264"),
        (
            "Delete a role with the token of an administrator",
            "encamp acl role delete -token $ADMIN_TOKEN \\\n    6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        ROLE.delete(context, &self.general, &self.id, |id| format!("ACL role {id} successfully deleted"))
    }
}

/// List roles
///
/// Lists the roles; without a management token, those of the token.
#[derive(Debug, clap::Parser)]
pub struct AclRoleList {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclRoleList {
    const META: Meta = Meta::new("acl role list")
        .examples(&[("List the roles", "encamp acl role list"), ("Print them as JSON", "encamp acl role list -json")]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let columns: &Columns<'_, Value> = &[
            ("ID", &|r| text(r, "ID").into()),
            ("Name", &|r| text(r, "Name").into()),
            ("Description", &|r| text(r, "Description").into()),
            ("Policies", &policies),
        ];
        ROLE.list(context, (&self.general, &self.format), columns)
    }
}
