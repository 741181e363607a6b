//! `acl auth-method …` (`docs/spec/cli.md §13`).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{duration, read_text};
use crate::object_commands::{Object, ObjectFlags, Verb, changed};
use crate::prelude::*;
use crate::render::table::{Columns, pairs};
use encamp_model::duration::parse_duration;
use encamp_model::{AclAuthMethod, AclAuthMethodConfig, format_duration};

impl Object for AclAuthMethod {
    const ARGUMENT: (&'static str, CompleteWith) = ("name", CompleteWith::Live(Objects::AclAuthMethods));
    const TYPE_NAME: &'static str = "*api.ACLAuthMethod";
    const SHOW: Verb = Verb {
        help: "Show an auth method\n\nSecrets are not shown. The argument is the name of the method.",
        failed: "Error reading ACL auth method",
        meta: Meta::new("acl auth-method info").examples(&[
            ("Show an auth method", "encamp acl auth-method info ci"),
            ("Print how long its tokens live", "encamp acl auth-method info -t '{{.MaxTokenTTL}}' ci"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List auth methods\n\nNeeds no token.",
        failed: "Error listing ACL auth methods",
        meta: Meta::new("acl auth-method list").examples(&[
            ("List the auth methods", "encamp acl auth-method list"),
            ("Print them as JSON", "encamp acl auth-method list -json"),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.ACLAuthMethodListStub";
    const NONE: Option<&'static str> = Some("No ACL auth methods found");
    const COLUMNS: &'static Columns<'static, AclAuthMethod> =
        &[("Name", &|m| m.name.clone()), ("Type", &|m| m.r#type.to_string()), ("Default", &|m| m.default.to_string())];
    const DELETE: Verb = Verb {
        help: "Delete an auth method\n\nDeletes the method and its binding rules; tokens that it gave stay until they \
             expire. The argument is the name of the method.",
        failed: "Error deleting ACL auth method",
        meta: Meta::new("acl auth-method delete").examples(&[
            ("Delete an auth method and its binding rules", "encamp acl auth-method delete ci"),
            (
                "Delete an auth method with the token of an administrator",
                "encamp acl auth-method delete -token $ADMIN_TOKEN main",
            ),
        ]),
    };
    const DELETED: fn(&str) -> String = |name| format!("ACL auth method {name} successfully deleted");

    fn print(&self, context: &mut Context<'_, '_>) {
        context.ui.output(&pairs(&[
            ("Name", self.name.clone()),
            ("Type", self.r#type.to_string()),
            ("Locality", self.token_locality.to_string()),
            ("Max Token TTL", duration(self.max_token_ttl)),
            ("Token Name Format", self.token_name_format.clone()),
            ("Default", self.default.to_string()),
            ("Create Index", self.create_index.to_string()),
            ("Modify Index", self.modify_index.to_string()),
        ]));
        let config = self.config.as_ref().map(config_block).unwrap_or_default();
        context.ui.output(&format!("\nAuth Method Config\n\n{config}"));
    }
}

/// The settings of a method that have a value.
fn config_block(config: &AclAuthMethodConfig) -> String {
    let list = |texts: &[String]| texts.iter().map(|text| text.trim_end()).collect::<Vec<_>>().join(",");
    let map = |map: &BTreeMap<String, String>| {
        map.iter().map(|(k, v)| format!("{{{k}: {v}}}")).collect::<Vec<_>>().join("; ")
    };
    let mut rows = vec![
        ("JWT Validation Public Keys", list(&config.jwt_validation_pub_keys)),
        ("JWKS URL", config.jwks_url.clone()),
        ("OIDC Discovery URL", config.oidc_discovery_url.clone()),
        ("OIDC Client ID", config.oidc_client_id.clone()),
        ("OIDC Client Secret", config.oidc_client_secret.expose().into()),
        ("OIDC Scopes", list(&config.oidc_scopes)),
        ("Bound audiences", list(&config.bound_audiences)),
        ("Bound issuer", list(&config.bound_issuer)),
        ("Allowed redirects URIs", list(&config.allowed_redirect_uris)),
        ("Discovery CA pem", list(&config.discovery_ca_pem)),
        ("JWKS CA cert", config.jwks_ca_cert.clone()),
        ("Signing algorithms", list(&config.signing_algs)),
        ("Expiration Leeway", duration(config.expiration_leeway)),
        ("NotBefore Leeway", duration(config.not_before_leeway)),
        ("ClockSkew Leeway", duration(config.clock_skew_leeway)),
        ("Claim mappings", map(&config.claim_mappings)),
        ("List claim mappings", map(&config.list_claim_mappings)),
    ];
    rows.retain(|(_, value)| !value.is_empty());
    pairs(&rows)
}

/// What is given of an auth method.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct MethodFlags {
    /// Type of the method: OIDC or JWT
    #[arg(long, value_name = "type", add = CompleteWith::Words(&["JWT", "OIDC"]))]
    r#type: Option<String>,
    /// Time after which the tokens of the method expire
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    max_token_ttl: Option<i64>,
    /// Where the tokens are valid: local or global
    #[arg(long, value_name = "locality", add = CompleteWith::Words(&["global", "local"]))]
    token_locality: Option<String>,
    /// Names of the tokens: text with ${auth_method_type}, ${auth_method_name} and ${value.…}
    #[arg(long, value_name = "format")]
    token_name_format: Option<String>,
    /// Use the method for logins that name none
    #[arg(long)]
    default: bool,
    /// Settings of the method as JSON: text, @file, or - for standard input
    #[arg(long, value_name = "json")]
    config: Option<String>,
}

impl MethodFlags {
    /// A method with what is given.
    fn put(&self, method: Value, context: &Context<'_, '_>) -> CommandResult<Value> {
        let source = match self.config.as_deref() {
            Some("-") => Some(read_text("-", context)?),
            Some(config) => match config.strip_prefix('@') {
                Some(file) => Some(read_text(file, context)?),
                None => Some(config.to_string()),
            },
            None => None,
        };
        let config = source.map(|text| serde_json::from_str::<Value>(&text)).transpose();
        let config = config.context("Error parsing JSON of -config")?;
        let changes = json!({
            "Type": self.r#type,
            "TokenLocality": self.token_locality,
            "TokenNameFormat": self.token_name_format,
            "MaxTokenTTL": self.max_token_ttl.map(format_duration),
            "Default": self.default.then_some(true),
        });
        let mut method = changed(method, changes);
        if let Value::Object(members) = &mut method {
            // Also null, if that is given.
            members.extend(config.map(|config| ("Config".to_string(), config)));
        }
        Ok(method)
    }
}

/// Create an auth method
///
/// An auth method gives tokens to users of another system: of an OpenID Connect provider, or with signed JSON Web
/// Tokens. Binding rules decide which roles and policies the tokens have.
#[derive(Debug, clap::Parser)]
pub struct AclAuthMethodCreate {
    /// Name of the method
    #[arg(long, value_name = "name", default_value = "", hide_default_value = true)]
    pub name: String,
    #[command(flatten)]
    pub(crate) method: MethodFlags,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
}

impl Run for AclAuthMethodCreate {
    const META: Meta = Meta::new("acl auth-method create").examples(&[
        (
            "Accept the JSON Web Tokens of another system",
            "encamp acl auth-method create -name ci -type JWT -max-token-ttl 1h \\\n    \
                 -config @ci-auth-method.json",
        ),
        (
            "Create the method for logins that name none",
            "encamp acl auth-method create -name main -type JWT -default \\\n    \
                 -max-token-ttl 8h -config @ci-auth-method.json",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.name.is_empty() {
            return context.usage_error("ACL auth method name must be specified using the -name flag");
        }
        let method = json!({ "Name": self.name, "TokenLocality": "local" });
        let method = match self.method.put(method, context) {
            Ok(method) => method,
            Err(e) => return context.report(&e),
        };
        self.flags.show(context, |c, _| {
            c.ask(c.client.create_object::<AclAuthMethod>(&method), "Error creating ACL auth method")
        })
    }
}

/// Update an auth method
///
/// Changes what is given. The argument is the name of the method.
#[derive(Debug, clap::Parser)]
pub struct AclAuthMethodUpdate {
    #[command(flatten)]
    pub(crate) method: MethodFlags,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
    #[arg(value_name = "name", add = CompleteWith::Live(Objects::AclAuthMethods))]
    pub(crate) name: String,
}

impl Run for AclAuthMethodUpdate {
    const META: Meta = Meta::new("acl auth-method update").examples(&[
        ("Shorten the life of its tokens", "encamp acl auth-method update -max-token-ttl 30m ci"),
        ("Replace its settings", "encamp acl auth-method update -config @ci-auth-method.json ci"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = &self.name;
        self.flags.show(context, |c, context| {
            let method = self.method.put(AclAuthMethod::find(c, name)?.json, context)?;
            c.ask(c.client.put_object::<AclAuthMethod>(name, &method), "Error updating ACL auth method")
        })
    }
}
