//! `var purge`, `var init` (`docs/spec/cli.md §12.2`).

use super::{conflict, one_namespace};
use crate::examples::{Files, InitFlags};
use crate::flags::parse_int;
use crate::prelude::*;
use encamp_api::variables::VariableError;
use encamp_model::quoted;

/// Purge a variable
///
/// The argument is the path of the variable.
#[derive(Debug, clap::Parser)]
pub struct VarPurge {
    /// Delete the variable only if its modify index has this value
    #[arg(long, value_name = "index", value_parser = parse_int)]
    pub check_index: Option<i64>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "path", add = CompleteWith::Live(Objects::Variables))]
    pub(crate) path: String,
}

impl Run for VarPurge {
    const META: Meta = Meta::new("var purge").examples(&[
        ("Delete a variable", "encamp var purge nomad/jobs/web"),
        ("Delete a variable of another namespace", "encamp var purge -namespace prod nomad/jobs/shop"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if let Err(e) = one_namespace(&self.general, context.env) {
            return context.report(&e);
        }
        let expected = self.check_index.and_then(|i| u64::try_from(i).ok());
        context.connected(&self.general, |c, context| match c.wait(c.client.delete_variable(&self.path, expected)) {
            Ok(()) => {
                context.ui.output(&format!("Successfully purged variable {}!", quoted(&self.path)));
                Ok(0)
            }
            Err(VariableError::Conflict(found)) => Ok(conflict::report(expected.unwrap_or(0), &found, c, context)),
            Err(VariableError::Other(e)) => Err(CommandError::from(e).within("Error purging variable")),
        })
    }
}

/// Create an example variable specification
///
/// The default file name is spec.nv.hcl or spec.nv.json. An existing file is not overwritten.
#[derive(Debug, clap::Parser)]
pub struct VarInit {
    #[command(flatten)]
    pub(crate) init: InitFlags,
}

impl Run for VarInit {
    const META: Meta = Meta::new("var init").offline_examples(&[
        ("Create spec.nv.hcl, an example specification with comments", "encamp var init"),
        ("Create an example specification as JSON, without comments", "encamp var init -out json -quiet web.nv.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let files = Files {
            hcl: ("spec.nv.hcl", include_str!("../examples/spec.nv.hcl")),
            json: ("spec.nv.json", include_str!("../examples/spec.nv.json")),
            what: "variable",
        };
        self.init.write(context, &files)
    }
}
