//! The task of an allocation with several tasks, chosen from a list.

use super::argument::question;
use super::frame::{Frame, Heading};
use super::list::{List, Row};
use super::{possible, screen};
use crate::context::Context;
use crate::error::{CommandError, CommandResult};
use crate::render::styled::one_line;
use encamp_model::Allocation;

/// The one of these tasks that the operator chooses; `None` if nobody can choose.
pub(crate) fn task(
    context: &mut Context<'_, '_>,
    alloc: &Allocation,
    names: &[String],
) -> CommandResult<Option<String>> {
    if !possible(context) {
        return Ok(None);
    }
    let state = |name: &str| alloc.task_states.get(name).map(|state| state.state.as_str().to_string());
    let row = |name: &String| Row::new(vec![name.clone(), state(name).unwrap_or_default()], name);
    let mut list = List::new(names.iter().map(row).collect());
    let headings = ["Task", "State"].map(|name| Heading { name, is_id: false }).into();
    let frame = Frame::new(question("task"), headings, &list, context.ui.colours_on());
    match screen::choose(context.ui.terminal(), &mut list, &frame) {
        Ok(number) => {
            let name = names.get(number).cloned();
            context.ui.error_plain(&format!("Task: {}", one_line(name.as_deref().unwrap_or_default())));
            Ok(name)
        }
        Err(how) => Err(CommandError::new("No task chosen.").with_exit_code(how.exit_code())),
    }
}
