//! `login` (`docs/spec/cli.md §13`).

use super::tokens::block;
use super::{asked, no_arguments};
use crate::cli::command::Run;
use crate::cli::context::Context;
use crate::cli::data::{flag, text};
use crate::cli::error::CommandError;
use crate::cli::format::FormatFlags;
use crate::cli::general::GeneralFlags;
use encamp_api::AclKind;

/// Log in with an auth method
///
/// Exchanges a JSON Web Token of another system for a token of this cluster, with the rights that the binding rules of
/// the auth method give. Prints the token with its secret, which is the value for -token and NOMAD_TOKEN.
#[derive(Debug, clap::Parser)]
pub struct Login {
    /// Name of the auth method. Default: the default method
    #[arg(long, value_name = "name", default_value = "", hide_default_value = true)]
    pub method: String,
    /// Ignored: the method has a type
    #[arg(long, value_name = "type", hide = true)]
    pub r#type: Option<String>,
    /// JSON Web Token of the other system
    #[arg(long, value_name = "token", default_value = "", hide_default_value = true)]
    pub login_token: String,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for Login {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if let Some(code) = no_arguments(context, &self.optional_args) {
            return code;
        }
        context.connected(&self.general, |c, context| {
            let formatted = self.format.wanted()?;
            let methods = asked(c, c.client.acl_objects(AclKind::AuthMethod), "Error listing ACL auth methods")?;
            let chosen = match self.method.as_str() {
                "" => methods.iter().find(|m| flag(m, "Default")),
                name => methods.iter().find(|m| text(m, "Name") == name),
            };
            let chosen = chosen.ok_or_else(|| match self.method.as_str() {
                "" => CommandError::new("Must specify an auth method name, no default found"),
                name => CommandError::new(format!("Error: method {name} not found in the state store. ")),
            })?;
            let (method, kind) = (text(chosen, "Name").to_string(), text(chosen, "Type").to_string());
            if self.login_token.is_empty() {
                let line =
                    format!("A login with the auth method {method} needs a token of its provider: use -login-token");
                return Err(CommandError::new(line));
            }
            let token = asked(c, c.client.acl_login(&method, &self.login_token), "Error performing login")?;
            if formatted {
                return self.format.print(context.ui, &token, "*api.ACLToken");
            }
            context.ui.output(&format!("Successfully logged in via {kind} and {method}\n\n{}", block(&token)));
            Ok(0)
        })
    }
}
