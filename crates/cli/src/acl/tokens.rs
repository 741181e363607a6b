//! `acl bootstrap`, `acl token …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::{ObjectKind, asked, is_expired, read_text, shown, time};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::{flag, joined, list, text};
use crate::error::CommandResult;
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::{self, Columns, pairs};
use encamp_api::AclKind;
use encamp_model::duration::parse_duration;
use encamp_model::format_duration;

const TOKEN: ObjectKind = ObjectKind {
    kind: AclKind::Token,
    type_name: "*api.ACLToken",
    row_type_name: "[]*api.ACLTokenListStub",
    reading: "Error fetching token",
    creating: "Error creating token",
    updating: "Error updating token",
    deleting: "Error deleting token",
    listing: "Error listing ACL tokens",
    none: "No tokens found",
    print: |context, token| context.ui.output(&block(token)),
};

/// A token with its secret.
pub(super) fn block(token: &Value) -> String {
    let mut rows = vec![
        ("Accessor ID", text(token, "AccessorID").to_string()),
        ("Secret ID", text(token, "SecretID").to_string()),
        ("Name", text(token, "Name").to_string()),
        ("Type", text(token, "Type").to_string()),
        ("Global", flag(token, "Global").to_string()),
        ("Create Time", time(token, "CreateTime")),
        ("Expiry Time", time(token, "ExpirationTime")),
        ("Create Index", shown(token, "CreateIndex")),
        ("Modify Index", shown(token, "ModifyIndex")),
    ];
    if text(token, "Type") == "management" {
        rows.push(("Policies", "n/a".into()));
        rows.push(("Roles", "n/a".into()));
        return pairs(&rows);
    }
    rows.push(("Policies", format!("[{}]", joined(token, "Policies", " "))));
    let roles = list(token, "Roles");
    let columns: &Columns<'_, Value> = &[("ID", &|r| text(r, "ID").into()), ("Name", &|r| text(r, "Name").into())];
    let roles = if roles.is_empty() { "<none>".to_string() } else { table::columns(roles, columns) };
    format!("{}\n\nRoles\n{roles}", pairs(&rows))
}

/// Types of tokens.
const TOKEN_TYPES: &[&str] = &["client", "management"];

/// Create the first management token of a cluster
///
/// Access control is enabled by the setting acl.enabled of the agents. The command succeeds once; the error of a second
/// call names the reset index: written to the file acl-bootstrap-reset in the data directory of the leader, it allows
/// one more call.
///
/// The argument is the path of a file with the secret of the token, a UUID, or - for standard input. Default: the
/// servers choose the secret.
#[derive(Debug, clap::Parser)]
pub struct AclBootstrap {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "file")]
    pub(crate) optional_args: Vec<String>,
}

impl Run for AclBootstrap {
    const META: Meta = Meta::new("acl bootstrap").examples(&[
        ("Create the first management token", "encamp acl bootstrap"),
        ("Create it with a secret of your own", "encamp acl bootstrap admin-secret.txt"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let secret = match self.optional_args.as_slice() {
            [] => String::new(),
            [file] => match read_text(file, context) {
                Ok(secret) => secret.trim().to_string(),
                Err(e) => return context.report(&e),
            },
            _ => return context.usage_error("This command takes up to one argument"),
        };
        TOKEN.show(context, (&self.general, &self.format), |c, _| {
            asked(c, c.client.acl_bootstrap(&secret), "Error bootstrapping")
        })
    }
}

/// Policies and roles of a token.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Links {
    /// Policy of the token; can be repeated
    #[arg(long, value_name = "name", add = CompleteWith::Live(Objects::AclPolicies))]
    policy: Vec<String>,
    /// ID of a role of the token; can be repeated
    #[arg(long, value_name = "id", add = CompleteWith::Live(Objects::AclRoles))]
    role_id: Vec<String>,
    /// Name of a role of the token; can be repeated
    #[arg(long, value_name = "name", add = CompleteWith::Live(Objects::AclRoleNames))]
    role_name: Vec<String>,
}

impl Links {
    fn roles(&self) -> Vec<Value> {
        let by_id = self.role_id.iter().map(|id| json!({ "ID": id }));
        by_id.chain(self.role_name.iter().map(|name| json!({ "Name": name }))).collect()
    }

    /// Warns about policies that do not exist: they grant nothing until they do.
    fn warn(&self, c: &Connection, context: &mut Context<'_, '_>) {
        for name in &self.policy {
            if let Err(e) = c.wait(c.client.acl_object(AclKind::Policy, name)) {
                context.ui.warn(&format!("Error fetching info on {name} policy: {e}"));
            }
        }
    }
}

/// Create a token
///
/// Prints the token with its secret, which is the value for -token and NOMAD_TOKEN.
///
/// The argument is the path of a file with the secret of the token, a UUID, or - for standard input; it needs
/// -accessor. Default: the servers choose the secret.
#[derive(Debug, clap::Parser)]
pub struct AclTokenCreate {
    /// Name of the token, for people
    #[arg(long, value_name = "text", default_value = "", hide_default_value = true)]
    pub name: String,
    /// Type of the token: client or management
    #[arg(long, value_name = "type", default_value = "client", add = CompleteWith::Words(TOKEN_TYPES))]
    pub r#type: String,
    /// Make the token valid in all regions
    #[arg(long)]
    pub global: bool,
    #[command(flatten)]
    pub(crate) links: Links,
    /// Time after which the token expires. Default: never
    #[arg(long, value_name = "duration", default_value = "0s", hide_default_value = true, value_parser = parse_duration)]
    pub ttl: i64,
    /// Accessor ID of the token, a UUID
    #[arg(long, value_name = "id", default_value = "", hide_default_value = true)]
    pub accessor: String,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "file")]
    pub(crate) optional_args: Vec<String>,
}

impl Run for AclTokenCreate {
    const META: Meta = Meta::new("acl token create").examples(&[
        ("Create a token for eight hours", "encamp acl token create -name anna -policy dev -ttl 8h"),
        ("Create a token with a role", "encamp acl token create -name ben -role-name developers"),
        ("Create a management token", "encamp acl token create -name admin -type management"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let secret = match self.optional_args.as_slice() {
            [] => String::new(),
            [_] if self.accessor.is_empty() => {
                return context.usage_error("A file with a secret needs the flag -accessor");
            }
            [file] => match read_text(file, context) {
                Ok(secret) => secret.trim().to_string(),
                Err(e) => return context.report(&e),
            },
            _ => return context.usage_error("This command takes up to one argument"),
        };
        let mut token = json!({
            "Name": self.name, "Type": self.r#type, "Global": self.global, "Policies": self.links.policy,
            "Roles": self.links.roles(), "AccessorID": self.accessor, "SecretID": secret,
        });
        if self.ttl != 0 {
            token["ExpirationTTL"] = format_duration(self.ttl).into();
        }
        TOKEN.show(context, (&self.general, &self.format), |c, context| {
            self.links.warn(c, context);
            TOKEN.create(c, &token)
        })
    }
}

/// Update a token
///
/// Changes the name, type, policies and roles of a token; what is not given stays. Policies and roles replace the
/// existing ones. The argument is the accessor ID of the token.
#[derive(Debug, clap::Parser)]
pub struct AclTokenUpdate {
    /// Name of the token, for people
    #[arg(long, value_name = "text")]
    pub name: Option<String>,
    /// Type of the token: client or management
    #[arg(long, value_name = "type", add = CompleteWith::Words(TOKEN_TYPES))]
    pub r#type: Option<String>,
    #[command(flatten)]
    pub(crate) links: Links,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "accessor", add = CompleteWith::Live(Objects::AclTokens))]
    pub(crate) accessor: String,
}

impl AclTokenUpdate {
    /// The token with the changes.
    fn changed(&self, mut token: Value) -> Value {
        for (member, value) in [("Name", &self.name), ("Type", &self.r#type)] {
            if let Some(value) = value {
                token[member] = json!(value);
            }
        }
        if !self.links.policy.is_empty() {
            token["Policies"] = json!(self.links.policy);
        }
        let roles = self.links.roles();
        if !roles.is_empty() {
            token["Roles"] = json!(roles);
        }
        token
    }
}

impl Run for AclTokenUpdate {
    const META: Meta = Meta::new("acl token update").examples(&[
        ("Rename a token", "encamp acl token update -name ops e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
        ("Replace the policies of a token", "encamp acl token update -policy ops e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let accessor = &self.accessor;
        TOKEN.show(context, (&self.general, &self.format), |c, context| {
            let token = self.changed(TOKEN.read(c, accessor)?);
            self.links.warn(c, context);
            TOKEN.put(c, accessor, &token)
        })
    }
}

/// Show a token
///
/// The argument is the accessor ID of the token.
#[derive(Debug, clap::Parser)]
pub struct AclTokenInfo {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "accessor", add = CompleteWith::Live(Objects::AclTokens))]
    pub(crate) accessor: String,
}

impl Run for AclTokenInfo {
    const META: Meta = Meta::new("acl token info").examples(&[
        ("Show a token", "encamp acl token info e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
        ("Print a token as JSON", "encamp acl token info -json e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        TOKEN.info(context, (&self.general, &self.format), &self.accessor)
    }
}

/// Delete a token
///
/// Requests with the token are refused at once, and its open streams end. The argument is the accessor ID of the token.
#[derive(Debug, clap::Parser)]
pub struct AclTokenDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "accessor", add = CompleteWith::Live(Objects::AclTokens))]
    pub(crate) accessor: String,
}

impl Run for AclTokenDelete {
    const META: Meta = Meta::new("acl token delete").examples(&[
        ("Revoke a token", "encamp acl token delete e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
        (
            "Revoke a token with the token of an administrator",
            "encamp acl token delete -token $ADMIN_TOKEN \\\n    e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        TOKEN.delete(context, &self.general, &self.accessor, |id| format!("Token {id} successfully deleted"))
    }
}

/// List tokens
///
/// Secrets are not shown.
#[derive(Debug, clap::Parser)]
pub struct AclTokenList {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclTokenList {
    const META: Meta = Meta::new("acl token list").examples(&[
        ("List the tokens", "encamp acl token list"),
        ("Print their accessor IDs", "encamp acl token list -t '{{range .}}{{.AccessorID}} {{end}}'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let now = context.env.now;
        let columns: &Columns<'_, Value> = &[
            ("Name", &|t| text(t, "Name").into()),
            ("Type", &|t| text(t, "Type").into()),
            ("Global", &|t| flag(t, "Global").to_string()),
            ("Accessor ID", &|t| text(t, "AccessorID").into()),
            ("Expired", &|t| is_expired(t, now).to_string()),
        ];
        TOKEN.list(context, (&self.general, &self.format), columns)
    }
}

/// Show the token of the command
///
/// Shows the token that -token or NOMAD_TOKEN contains the secret of.
#[derive(Debug, clap::Parser)]
pub struct AclTokenSelf {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclTokenSelf {
    const META: Meta = Meta::new("acl token self").examples(&[
        ("Show the token of the command", "encamp acl token self"),
        ("Print when it expires", "encamp acl token self -t '{{.ExpirationTime}}'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        TOKEN.show(context, (&self.general, &self.format), |c, _| own(c))
    }
}

/// The token of the requests.
fn own(c: &Connection) -> CommandResult<Value> {
    let token = asked(c, c.client.acl_token_self(), "Error fetching self token")?;
    if text(&token, "AccessorID") == "anonymous" {
        let line = "No token present in the environment or set via the CLI flag";
        return Err(crate::error::CommandError::new(line));
    }
    Ok(token)
}
