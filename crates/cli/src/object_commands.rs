//! The commands that kinds of objects have in common: [`ShowObject`], [`ListObjects`] and [`DeleteObject`]. What differs
//! between the kinds is in [`Object`].

use std::marker::PhantomData;

use serde_json::Value;

use super::command::Run;
use super::command_meta::Meta;
use super::completion::values::CompleteWith;
use super::connection::Connection;
use super::context::Context;
use super::error::CommandResult;
use super::format::FormatFlags;
use super::general::GeneralFlags;
use super::render::table::{Columns, columns};
use encamp_api::{ApiObject, Query, Received};

/// A kind of objects with commands.
pub trait Object: ApiObject + 'static {
    /// The name of the argument that selects an object, and the values that complete it.
    const ARGUMENT: (&'static str, CompleteWith);
    /// The name of the type of an object in errors of templates.
    const TYPE_NAME: &'static str;
    /// The command that shows an object.
    const SHOW: Verb;
    /// The command that lists objects.
    const LIST: Verb;
    /// The name of the type of a list in errors of templates.
    const LIST_TYPE_NAME: &'static str;
    /// The text that is printed instead of a table without rows.
    const NONE: Option<&'static str>;
    /// The columns of the table.
    const COLUMNS: &'static Columns<'static, Self>;
    /// The command that deletes an object.
    const DELETE: Verb;
    /// The message about the deleted object with this name or ID.
    const DELETED: fn(&str) -> String;

    /// Prints an object for people.
    fn print(&self, context: &mut Context<'_, '_>);

    /// Prints an object as JSON or with a template.
    fn print_as(object: &Received<Self>, format: &FormatFlags, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        format.print(context.ui, object, Self::TYPE_NAME)
    }

    /// Reads the object that the argument selects.
    fn find(c: &Connection, argument: &str) -> CommandResult<Received<Self>> {
        c.ask(c.client.object(argument), Self::SHOW.failed)
    }

    /// Puts a list that a server sent into the form in which it is printed.
    fn arranged(rows: Vec<Received<Self>>) -> Vec<Received<Self>> {
        rows
    }

    /// The table of a list.
    fn table(rows: &[Received<Self>]) -> String {
        columns(rows.iter().map(|row| &row.object), Self::COLUMNS)
    }
}

/// A command of one kind of objects.
pub struct Verb {
    /// The help: the line in lists of commands, without a full stop, and the paragraphs below it.
    pub help: &'static str,
    /// The beginning of the message about a failed request.
    pub failed: &'static str,
    /// The facts about the command.
    pub meta: Meta,
}

impl Verb {
    /// The line in lists of commands.
    pub fn about(&self) -> &'static str {
        self.help.split("\n\n").next().unwrap_or_default()
    }
}

/// The flags of commands that print an object.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ObjectFlags {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl ObjectFlags {
    /// Prints the object that requests give, in the requested format or for people.
    pub(crate) fn show<T: Object>(
        &self,
        context: &mut Context<'_, '_>,
        object: impl FnOnce(&Connection, &mut Context<'_, '_>) -> CommandResult<Received<T>>,
    ) -> u8 {
        context.connected(&self.general, |c, context| {
            let formatted = self.format.wanted()?;
            let object = object(c, context)?;
            if formatted {
                return T::print_as(&object, &self.format, context);
            }
            object.print(context);
            Ok(0)
        })
    }
}

/// Shows an object.
#[derive(Debug, clap::Parser)]
#[command(about = T::SHOW.about(), long_about = T::SHOW.help)]
pub struct ShowObject<T: Object> {
    #[command(flatten)]
    flags: ObjectFlags,
    #[arg(value_name = T::ARGUMENT.0, add = T::ARGUMENT.1)]
    argument: String,
    #[arg(skip)]
    kind: PhantomData<T>,
}

impl<T: Object> Run for ShowObject<T> {
    const META: Meta = T::SHOW.meta;

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        self.flags.show(context, |c, _| T::find(c, &self.argument))
    }
}

/// Lists objects.
#[derive(Debug, clap::Parser)]
#[command(about = T::LIST.about(), long_about = T::LIST.help)]
pub struct ListObjects<T: Object> {
    #[command(flatten)]
    flags: ObjectFlags,
    #[arg(skip)]
    kind: PhantomData<T>,
}

impl<T: Object> Run for ListObjects<T> {
    const META: Meta = T::LIST.meta;

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let ObjectFlags { format, general } = &self.flags;
        context.connected(general, |c, context| {
            let formatted = format.wanted()?;
            let rows = T::arranged(c.ask(c.client.objects(&Query::default()), T::LIST.failed)?);
            if formatted {
                return format.print(context.ui, &rows, T::LIST_TYPE_NAME);
            }
            let none = T::NONE.filter(|_| rows.is_empty());
            context.ui.output(&none.map_or_else(|| T::table(&rows), String::from));
            Ok(0)
        })
    }
}

/// Deletes an object.
#[derive(Debug, clap::Parser)]
#[command(about = T::DELETE.about(), long_about = T::DELETE.help)]
pub struct DeleteObject<T: Object> {
    #[command(flatten)]
    general: GeneralFlags,
    #[arg(value_name = T::ARGUMENT.0, add = T::ARGUMENT.1)]
    argument: String,
    #[arg(skip)]
    kind: PhantomData<T>,
}

impl<T: Object> Run for DeleteObject<T> {
    const META: Meta = T::DELETE.meta;

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            c.ask(c.client.delete_object::<T>(&self.argument), T::DELETE.failed)?;
            context.ui.output(&(T::DELETED)(&self.argument));
            Ok(0)
        })
    }
}

/// An object with changed members. Members that are null in the changes stay as they are.
pub(crate) fn changed(mut object: Value, changes: Value) -> Value {
    if let (Value::Object(members), Value::Object(changes)) = (&mut object, changes) {
        members.extend(changes.into_iter().filter(|(_, value)| !value.is_null()));
    }
    object
}
