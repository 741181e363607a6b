//! Commands about access control (`docs/spec/cli.md §13`).
//!
//! [`tokens`]: bootstrap and tokens. [`policies`], [`roles`], [`auth_methods`], [`binding_rules`]. [`explain`]: why
//! something is allowed. [`effects`]: what a new text of a policy would change.

pub mod auth_methods;
pub mod binding_rules;
pub mod effects;
pub mod explain;
pub mod login;
pub mod policies;
pub mod roles;
pub mod tokens;

use super::command::Registry;
use super::connection::Connection;
use super::context::Context;
use super::data::text;
use super::error::{CommandError, CommandResult, ErrorContext};
use super::format::FormatFlags;
use super::general::GeneralFlags;
use encamp_api::{AclKind, ApiError, Meta};
use encamp_model::Time;
use serde_json::Value;

/// Adds the commands.
pub(super) fn register(registry: &mut Registry) {
    registry.add::<tokens::AclBootstrap>("acl bootstrap", None, 1);
    registry.add::<tokens::AclTokenCreate>("acl token create", None, 1);
    registry.add::<tokens::AclTokenUpdate>("acl token update", None, 1);
    registry.add::<tokens::AclTokenInfo>("acl token info", None, 1);
    registry.add::<tokens::AclTokenDelete>("acl token delete", None, 1);
    registry.add::<tokens::AclTokenList>("acl token list", None, 1);
    registry.add::<tokens::AclTokenSelf>("acl token self", None, 1);
    registry.add::<policies::AclPolicyApply>("acl policy apply", None, 1);
    registry.add::<policies::AclPolicyList>("acl policy list", None, 1);
    registry.add::<policies::AclPolicyInfo>("acl policy info", None, 1);
    registry.add::<policies::AclPolicyDelete>("acl policy delete", None, 1);
    registry.add::<policies::AclPolicySelf>("acl policy self", None, 1);
    registry.add::<roles::AclRoleCreate>("acl role create", None, 1);
    registry.add::<roles::AclRoleUpdate>("acl role update", None, 1);
    registry.add::<roles::AclRoleInfo>("acl role info", None, 1);
    registry.add::<roles::AclRoleDelete>("acl role delete", None, 1);
    registry.add::<roles::AclRoleList>("acl role list", None, 1);
    registry.add::<auth_methods::AclAuthMethodCreate>("acl auth-method create", None, 1);
    registry.add::<auth_methods::AclAuthMethodUpdate>("acl auth-method update", None, 1);
    registry.add::<auth_methods::AclAuthMethodList>("acl auth-method list", None, 1);
    registry.add::<auth_methods::AclAuthMethodInfo>("acl auth-method info", None, 1);
    registry.add::<auth_methods::AclAuthMethodDelete>("acl auth-method delete", None, 1);
    registry.add::<binding_rules::AclBindingRuleCreate>("acl binding-rule create", None, 1);
    registry.add::<binding_rules::AclBindingRuleUpdate>("acl binding-rule update", None, 1);
    registry.add::<binding_rules::AclBindingRuleList>("acl binding-rule list", None, 1);
    registry.add::<binding_rules::AclBindingRuleInfo>("acl binding-rule info", None, 1);
    registry.add::<binding_rules::AclBindingRuleDelete>("acl binding-rule delete", None, 1);
    registry.add::<explain::AclExplain>("acl explain", None, 2);
    registry.add::<login::Login>("login", None, 1);
}

/// A time in full, in UTC; `<none>` where there is none.
fn time(value: &Value, member: &str) -> String {
    let time = Time::parse(text(value, member)).unwrap_or_default();
    match time.unix_nanos() {
        Some(_) if !time.is_zero() => {
            let written = time.to_string();
            format!("{} +0000 UTC", written.trim_end_matches('Z').replacen('T', " ", 1))
        }
        _ => "<none>".into(),
    }
}

/// A member as text, whatever it is.
fn shown(value: &Value, member: &str) -> String {
    match value.get(member) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A command that takes no arguments.
fn no_arguments(context: &mut Context<'_, '_>, args: &[String]) -> Option<u8> {
    (!args.is_empty()).then(|| context.usage_error("This command takes no arguments"))
}

/// The rows of a list command, in the requested format or as a table.
struct ListCommand<'a> {
    general: &'a GeneralFlags,
    format: &'a FormatFlags,
    kind: AclKind,
    /// The beginning of messages about failures.
    failed: &'static str,
    /// The type in errors of templates.
    type_name: &'static str,
}

impl ListCommand<'_> {
    fn run(&self, context: &mut Context<'_, '_>, shown: impl Fn(&[Value], &Context<'_, '_>) -> String) -> u8 {
        context.connected(self.general, |c, context| {
            let formatted = self.format.wanted()?;
            let (rows, _) = c.wait(c.client.acl_objects(self.kind)).context(self.failed)?;
            if formatted {
                return self.format.print(context.ui, &rows, self.type_name);
            }
            let text = shown(&rows, context);
            context.ui.output(&text);
            Ok(0)
        })
    }
}

/// Deletes an object and says so.
fn delete(
    context: &mut Context<'_, '_>,
    general: &GeneralFlags,
    kind: AclKind,
    id: &str,
    (failed, done): (&str, &str),
) -> u8 {
    context.connected(general, |c, context| {
        c.wait(c.client.delete_acl_object(kind, id)).context(failed)?;
        context.ui.output(done);
        Ok(0)
    })
}

/// Prints one object in the requested format, or as a block.
fn print_one(
    context: &mut Context<'_, '_>,
    format: &FormatFlags,
    value: &Value,
    type_name: &str,
    block: impl Fn(&Value) -> String,
) -> CommandResult<u8> {
    if format.wanted()? {
        return format.print(context.ui, value, type_name);
    }
    context.ui.output(&block(value));
    Ok(0)
}

/// The result of a request, with the beginning of the message about a failure.
fn asked<T>(
    c: &Connection,
    future: impl Future<Output = Result<(T, Meta), ApiError>>,
    failed: &str,
) -> CommandResult<T> {
    Ok(c.wait(future).context(failed)?.0)
}

/// The content of a file, or of standard input, as text.
fn read_text(path: &str, context: &Context<'_, '_>) -> CommandResult<String> {
    let bytes = super::spec_file::read(path, context.env)?;
    String::from_utf8(bytes).map_err(|_| CommandError::new(format!("{path:?} is not text in UTF-8")))
}
