//! `acl auth-method …` (`docs/spec/cli.md §13`).

use serde_json::{Value, json};

use super::{ObjectKind, read_text, shown};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::context::Context;
use crate::data::{flag, list, text};
use crate::error::{CommandResult, ErrorContext};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::render::table::{Columns, pairs};
use encamp_api::AclKind;
use encamp_model::duration::parse_duration;
use encamp_model::format_duration;

const METHOD: ObjectKind = ObjectKind {
    kind: AclKind::AuthMethod,
    type_name: "*api.ACLAuthMethod",
    row_type_name: "[]*api.ACLAuthMethodListStub",
    reading: "Error reading ACL auth method",
    creating: "Error creating ACL auth method",
    updating: "Error updating ACL auth method",
    deleting: "Error deleting ACL auth method",
    listing: "Error listing ACL auth methods",
    none: "No ACL auth methods found",
    print: |context, object| context.ui.output(&block(object)),
};

fn block(method: &Value) -> String {
    let head = pairs(&[
        ("Name", text(method, "Name").to_string()),
        ("Type", text(method, "Type").to_string()),
        ("Locality", text(method, "TokenLocality").to_string()),
        ("Max Token TTL", text(method, "MaxTokenTTL").to_string()),
        ("Token Name Format", text(method, "TokenNameFormat").to_string()),
        ("Default", flag(method, "Default").to_string()),
        ("Create Index", shown(method, "CreateIndex")),
        ("Modify Index", shown(method, "ModifyIndex")),
    ]);
    format!("{head}\n\nAuth Method Config\n\n{}", config_block(method.get("Config").unwrap_or(&Value::Null)))
}

/// The settings of a method that have a value.
fn config_block(config: &Value) -> String {
    let value = |member: &str| {
        let listed = list(config, member);
        match config.get(member) {
            _ if !listed.is_empty() => {
                listed.iter().filter_map(Value::as_str).map(str::trim_end).collect::<Vec<_>>().join(",")
            }
            Some(Value::Object(map)) => {
                let pairs = map.iter().map(|(k, v)| format!("{{{k}: {}}}", v.as_str().unwrap_or_default()));
                pairs.collect::<Vec<_>>().join("; ")
            }
            Some(Value::Array(_)) => String::new(),
            _ => shown(config, member),
        }
    };
    let rows: Vec<(&str, String)> = [
        ("JWT Validation Public Keys", "JWTValidationPubKeys"),
        ("JWKS URL", "JWKSURL"),
        ("OIDC Discovery URL", "OIDCDiscoveryURL"),
        ("OIDC Client ID", "OIDCClientID"),
        ("OIDC Client Secret", "OIDCClientSecret"),
        ("OIDC Scopes", "OIDCScopes"),
        ("Bound audiences", "BoundAudiences"),
        ("Bound issuer", "BoundIssuer"),
        ("Allowed redirects URIs", "AllowedRedirectURIs"),
        ("Discovery CA pem", "DiscoveryCaPem"),
        ("JWKS CA cert", "JWKSCACert"),
        ("Signing algorithms", "SigningAlgs"),
        ("Expiration Leeway", "ExpirationLeeway"),
        ("NotBefore Leeway", "NotBeforeLeeway"),
        ("ClockSkew Leeway", "ClockSkewLeeway"),
        ("Claim mappings", "ClaimMappings"),
        ("List claim mappings", "ListClaimMappings"),
    ]
    .into_iter()
    .map(|(title, member)| (title, value(member)))
    .filter(|(_, value)| !value.is_empty())
    .collect();
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
    /// Puts what is given into a method.
    fn put(&self, method: &mut Value, context: &Context<'_, '_>) -> CommandResult<()> {
        let texts = [
            ("Type", &self.r#type),
            ("TokenLocality", &self.token_locality),
            ("TokenNameFormat", &self.token_name_format),
        ];
        for (member, value) in texts {
            if let Some(value) = value {
                method[member] = json!(value);
            }
        }
        if let Some(ttl) = self.max_token_ttl {
            method["MaxTokenTTL"] = format_duration(ttl).into();
        }
        if self.default {
            method["Default"] = json!(true);
        }
        let source = match self.config.as_deref() {
            None => return Ok(()),
            Some("-") => read_text("-", context)?,
            Some(config) => match config.strip_prefix('@') {
                Some(file) => read_text(file, context)?,
                None => config.to_string(),
            },
        };
        let config: Value = serde_json::from_str(&source).context("Error parsing JSON of -config")?;
        method["Config"] = config;
        Ok(())
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
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
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
        let mut method = json!({ "Name": self.name, "TokenLocality": "local" });
        if let Err(e) = self.method.put(&mut method, context) {
            return context.report(&e);
        }
        METHOD.show(context, (&self.general, &self.format), |c, _| METHOD.create(c, &method))
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
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
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
        METHOD.show(context, (&self.general, &self.format), |c, context| {
            let mut method = METHOD.read(c, name)?;
            self.method.put(&mut method, context)?;
            METHOD.put(c, name, &method)
        })
    }
}

/// Show an auth method
///
/// Secrets are not shown. The argument is the name of the method.
#[derive(Debug, clap::Parser)]
pub struct AclAuthMethodInfo {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "name", add = CompleteWith::Live(Objects::AclAuthMethods))]
    pub(crate) name: String,
}

impl Run for AclAuthMethodInfo {
    const META: Meta = Meta::new("acl auth-method info").examples(&[
        ("Show an auth method", "encamp acl auth-method info ci"),
        ("Print how long its tokens live", "encamp acl auth-method info -t '{{.MaxTokenTTL}}' ci"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        METHOD.info(context, (&self.general, &self.format), &self.name)
    }
}

/// Delete an auth method
///
/// Deletes the method and its binding rules; tokens that it gave stay until they expire. The argument is the name of the
/// method.
#[derive(Debug, clap::Parser)]
pub struct AclAuthMethodDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "name", add = CompleteWith::Live(Objects::AclAuthMethods))]
    pub(crate) name: String,
}

impl Run for AclAuthMethodDelete {
    const META: Meta = Meta::new("acl auth-method delete").examples(&[
        ("Delete an auth method and its binding rules", "encamp acl auth-method delete ci"),
        (
            "Delete an auth method with the token of an administrator",
            "encamp acl auth-method delete -token $ADMIN_TOKEN main",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        METHOD.delete(context, &self.general, &self.name, |name| format!("ACL auth method {name} successfully deleted"))
    }
}

/// List auth methods
///
/// Needs no token.
#[derive(Debug, clap::Parser)]
pub struct AclAuthMethodList {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for AclAuthMethodList {
    const META: Meta = Meta::new("acl auth-method list").examples(&[
        ("List the auth methods", "encamp acl auth-method list"),
        ("Print them as JSON", "encamp acl auth-method list -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let columns: &Columns<'_, Value> = &[
            ("Name", &|m| text(m, "Name").into()),
            ("Type", &|m| text(m, "Type").into()),
            ("Default", &|m| flag(m, "Default").to_string()),
        ];
        METHOD.list(context, (&self.general, &self.format), columns)
    }
}
