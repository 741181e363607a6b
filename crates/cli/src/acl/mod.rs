//! Commands about access control (`docs/spec/cli.md §13`).
//!
//! [`tokens`]: bootstrap and tokens. [`policies`], [`roles`], [`auth_methods`], [`binding_rules`]. [`login`], with a
//! browser: [`browser_login`]. [`explain`]: why something is allowed. [`effects`]: what a new text of a policy would change.

pub mod auth_methods;
pub mod binding_rules;
mod browser_login;
pub mod effects;
pub mod explain;
pub mod login;
pub mod policies;
pub mod roles;
pub mod tokens;

use super::connection::Connection;
use super::context::Context;
use super::data::{list, text};
use super::error::{CommandError, CommandResult, ErrorContext};
use super::format::FormatFlags;
use super::general::GeneralFlags;
use super::render::table::{self, Columns};
use encamp_api::{AclKind, ApiError, Meta};
use encamp_model::Time;
use serde_json::Value;

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

/// The flags of every command that prints something.
type Flags<'a> = (&'a GeneralFlags, &'a FormatFlags);

/// A kind of objects, as the commands about it print them and name them in messages.
struct ObjectKind {
    kind: AclKind,
    /// The type of an object in errors of templates.
    type_name: &'static str,
    /// That of the rows of a list.
    row_type_name: &'static str,
    /// Beginnings of messages about failures.
    reading: &'static str,
    creating: &'static str,
    updating: &'static str,
    deleting: &'static str,
    listing: &'static str,
    /// What a list without objects prints.
    none: &'static str,
    /// Prints an object for people.
    print: fn(&mut Context<'_, '_>, &Value),
}

impl ObjectKind {
    fn read(&self, c: &Connection, id: &str) -> CommandResult<Value> {
        asked(c, c.client.acl_object(self.kind, id), self.reading)
    }

    fn create(&self, c: &Connection, object: &Value) -> CommandResult<Value> {
        asked(c, c.client.create_acl_object(self.kind, object), self.creating)
    }

    fn put(&self, c: &Connection, id: &str, object: &Value) -> CommandResult<Value> {
        asked(c, c.client.put_acl_object(self.kind, id, object), self.updating)
    }

    /// Prints the object that requests give, in the requested format or for people.
    fn show(
        &self,
        context: &mut Context<'_, '_>,
        (general, format): Flags<'_>,
        object: impl FnOnce(&Connection, &mut Context<'_, '_>) -> CommandResult<Value>,
    ) -> u8 {
        context.connected(general, |c, context| {
            let formatted = format.wanted()?;
            let object = object(c, context)?;
            if formatted {
                return format.print(context.ui, &object, self.type_name);
            }
            (self.print)(context, &object);
            Ok(0)
        })
    }

    /// The command `info`.
    fn info(&self, context: &mut Context<'_, '_>, flags: Flags<'_>, id: &str) -> u8 {
        self.show(context, flags, |c, _| self.read(c, id))
    }

    /// The command `delete`; `done` is what it prints.
    fn delete(
        &self,
        context: &mut Context<'_, '_>,
        general: &GeneralFlags,
        id: &str,
        done: impl FnOnce(&str) -> String,
    ) -> u8 {
        context.connected(general, |c, context| {
            c.wait(c.client.delete_acl_object(self.kind, id)).context(self.deleting)?;
            context.ui.output(&done(id));
            Ok(0)
        })
    }

    /// The command `list`, with the columns that it prints for people.
    fn list(&self, context: &mut Context<'_, '_>, (general, format): Flags<'_>, columns: &Columns<'_, Value>) -> u8 {
        context.connected(general, |c, context| {
            let formatted = format.wanted()?;
            let rows = asked(c, c.client.acl_objects(self.kind), self.listing)?;
            if formatted {
                return format.print(context.ui, &rows, self.row_type_name);
            }
            context.ui.output(&if rows.is_empty() { self.none.to_string() } else { table::columns(&rows, columns) });
            Ok(0)
        })
    }
}

/// The names of the policies of a token or role.
fn policy_names(value: &Value) -> Vec<String> {
    list(value, "Policies")
        .iter()
        .filter_map(|p| p.as_str().or_else(|| p.get("Name").and_then(Value::as_str)))
        .map(String::from)
        .collect()
}

/// Whether a token has expired.
fn is_expired(token: &Value, now: i64) -> bool {
    let expires = Time::parse(text(token, "ExpirationTime")).ok().and_then(Time::unix_nanos);
    expires.is_some_and(|at| at < now)
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
