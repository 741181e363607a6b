//! `var get` (`docs/spec/cli.md §12.2`).

use super::form::{Form, FormFlags, rendered};
use super::one_namespace;
use crate::prelude::*;
use crate::web::hint::UiPage;
use encamp_model::quoted;

/// Read a variable
///
/// The argument is the path of the variable.
#[derive(Debug, clap::Parser)]
pub struct VarGet {
    /// Print only the value of this key
    #[arg(long, value_name = "key")]
    pub item: Option<String>,
    #[command(flatten)]
    pub(crate) form: FormFlags,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path", add = CompleteWith::Live(Objects::Variables))]
    pub(crate) path: String,
}

impl Run for VarGet {
    const META: Meta = Meta::new("var get").examples(&[
        ("Show a variable", "encamp var get nomad/jobs/web"),
        ("Print one of its values", "encamp var get -item user nomad/jobs/web"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let path = &self.path;
        let default = if context.env.stdout_is_terminal { Form::Table } else { Form::Json };
        let form = match self.form.form(default) {
            Ok(form) => form,
            Err(line) => return context.usage_error(line),
        };
        if let Err(e) = one_namespace(&self.general, context.env) {
            return context.report(&e);
        }
        context.connected(&self.general, |c, context| {
            let variable = match c.wait(c.client.variable(path)) {
                Ok(variable) => variable,
                Err(e) if e.is_not_found() => {
                    context.ui.warn("Variable not found");
                    return Ok(1);
                }
                Err(e) => return Err(CommandError::from(e).within("Error retrieving variable")),
            };
            if let Some(key) = &self.item {
                let value = variable.items.get(key);
                let value = value
                    .ok_or_else(|| CommandError::new(format!("Variable does not contain {} item", quoted(key))))?;
                context.ui.content(value);
                return Ok(0);
            }
            let text = rendered(&variable, &form, &c.zone)?;
            if form != Form::None {
                context.ui.output(&text);
            }
            UiPage::variable(&variable.namespace, &variable.path).show(c, self.ui, context);
            Ok(0)
        })
    }
}
