//! `acl bootstrap`, `acl token …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::{is_expired, read_text, time};
use crate::context::clock;
use crate::object_commands::{Object, ObjectFlags, Verb, changed};
use crate::prelude::*;
use crate::render::table::{Columns, columns, pairs};
use encamp_model::duration::parse_duration;
use encamp_model::{AclPolicy, AclToken, AclTokenType, format_duration};

impl Object for AclToken {
    const ARGUMENT: (&'static str, CompleteWith) = ("accessor", CompleteWith::Live(Objects::AclTokens));
    const TYPE_NAME: &'static str = "*api.ACLToken";
    const SHOW: Verb = Verb {
        help: "Show a token\n\nThe argument is the accessor ID of the token.",
        failed: "Error fetching token",
        meta: Meta::new("acl token info").examples(&[
            ("Show a token", "encamp acl token info e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
            ("Print a token as JSON", "encamp acl token info -json e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List tokens\n\nSecrets are not shown.",
        failed: "Error listing ACL tokens",
        meta: Meta::new("acl token list").examples(&[
            ("List the tokens", "encamp acl token list"),
            ("Print their accessor IDs", "encamp acl token list -t '{{range .}}{{.AccessorID}} {{end}}'"),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.ACLTokenListStub";
    const NONE: Option<&'static str> = Some("No tokens found");
    const COLUMNS: &'static Columns<'static, AclToken> = &[
        ("Name", &|t| t.name.clone()),
        ("Type", &|t| t.r#type.to_string()),
        ("Global", &|t| t.global.to_string()),
        ("Accessor ID", &|t| t.accessor_id.clone()),
        ("Expired", &|t| is_expired(t, clock()).to_string()),
    ];
    const DELETE: Verb = Verb {
        help: "Delete a token\n\nRequests with the token are refused at once, and its open streams end. The argument \
             is the accessor ID of the token.",
        failed: "Error deleting token",
        meta: Meta::new("acl token delete").examples(&[
            ("Revoke a token", "encamp acl token delete e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
            (
                "Revoke a token with the token of an administrator",
                "encamp acl token delete -token $ADMIN_TOKEN \\\n    e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35",
            ),
        ]),
    };
    const DELETED: fn(&str) -> String = |accessor| format!("Token {accessor} successfully deleted");

    fn print(&self, context: &mut Context<'_, '_>) {
        context.ui.output(&block(self));
    }
}

/// A token with its secret.
pub(super) fn block(token: &AclToken) -> String {
    let mut rows = vec![
        ("Accessor ID", token.accessor_id.clone()),
        ("Secret ID", token.secret_id.expose().into()),
        ("Name", token.name.clone()),
        ("Type", token.r#type.to_string()),
        ("Global", token.global.to_string()),
        ("Create Time", time(token.create_time)),
        ("Expiry Time", time(token.expiration_time.unwrap_or_default())),
        ("Create Index", token.create_index.to_string()),
        ("Modify Index", token.modify_index.to_string()),
    ];
    if token.r#type == AclTokenType::Management {
        rows.push(("Policies", "n/a".into()));
        rows.push(("Roles", "n/a".into()));
        return pairs(&rows);
    }
    rows.push(("Policies", format!("[{}]", token.policies.join(" "))));
    let roles = match token.roles.as_slice() {
        [] => "<none>".to_string(),
        roles => columns(roles, &[("ID", &|r| r.id.clone()), ("Name", &|r| r.name.clone())]),
    };
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
    pub(crate) flags: ObjectFlags,
    #[arg(value_name = "file")]
    pub(crate) optional_args: Vec<String>,
}

impl Run for AclBootstrap {
    const META: Meta = Meta::new("acl bootstrap").examples(&[
        ("Create the first management token", "encamp acl bootstrap"),
        ("Create it with a secret of your own", "encamp acl bootstrap admin-secret.txt"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        match secret(&self.optional_args, context) {
            Ok(secret) => {
                self.flags.show(context, |c, _| c.ask(c.client.acl_bootstrap(&secret), "Error bootstrapping"))
            }
            Err(code) => code,
        }
    }
}

/// The secret in the file that a command may name; empty without one. The exit code if it cannot be read.
fn secret(args: &[String], context: &mut Context<'_, '_>) -> Result<String, u8> {
    match args {
        [] => Ok(String::new()),
        [file] => match read_text(file, context) {
            Ok(secret) => Ok(secret.trim().to_string()),
            Err(e) => Err(context.report(&e)),
        },
        _ => Err(context.usage_error("This command takes up to one argument")),
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
            if let Err(e) = c.wait(c.client.object::<AclPolicy>(name)) {
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
    pub(crate) flags: ObjectFlags,
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
        if self.optional_args.len() == 1 && self.accessor.is_empty() {
            return context.usage_error("A file with a secret needs the flag -accessor");
        }
        let secret = match secret(&self.optional_args, context) {
            Ok(secret) => secret,
            Err(code) => return code,
        };
        let token = json!({
            "Name": self.name, "Type": self.r#type, "Global": self.global, "Policies": self.links.policy,
            "Roles": self.links.roles(), "AccessorID": self.accessor, "SecretID": secret,
        });
        let ttl = (self.ttl != 0).then(|| format_duration(self.ttl));
        let token = changed(token, json!({ "ExpirationTTL": ttl }));
        self.flags.show(context, |c, context| {
            self.links.warn(c, context);
            c.ask(c.client.create_object::<AclToken>(&token), "Error creating token")
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
    pub(crate) flags: ObjectFlags,
    #[arg(value_name = "accessor", add = CompleteWith::Live(Objects::AclTokens))]
    pub(crate) accessor: String,
}

impl Run for AclTokenUpdate {
    const META: Meta = Meta::new("acl token update").examples(&[
        ("Rename a token", "encamp acl token update -name ops e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
        ("Replace the policies of a token", "encamp acl token update -policy ops e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let accessor = &self.accessor;
        let (policies, roles) = (Some(&self.links.policy), Some(self.links.roles()));
        let changes = json!({
            "Name": self.name,
            "Type": self.r#type,
            "Policies": policies.filter(|list| !list.is_empty()),
            "Roles": roles.filter(|list| !list.is_empty()),
        });
        self.flags.show(context, |c, context| {
            let token = changed(AclToken::find(c, accessor)?.json, changes);
            self.links.warn(c, context);
            c.ask(c.client.put_object::<AclToken>(accessor, &token), "Error updating token")
        })
    }
}

/// Show the token of the command
///
/// Shows the token that -token or NOMAD_TOKEN contains the secret of.
#[derive(Debug, clap::Parser)]
pub struct AclTokenSelf {
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
}

impl Run for AclTokenSelf {
    const META: Meta = Meta::new("acl token self").examples(&[
        ("Show the token of the command", "encamp acl token self"),
        ("Print when it expires", "encamp acl token self -t '{{.ExpirationTime}}'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        self.flags.show(context, |c, _| {
            let token = c.ask(c.client.acl_token_self(), "Error fetching self token")?;
            if token.accessor_id == "anonymous" {
                return Err(CommandError::new("No token present in the environment or set via the CLI flag"));
            }
            Ok(token)
        })
    }
}
