//! `login` (`docs/spec/cli.md §13`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::browser_login::{Callback, open, state_of};
use super::read_text;
use super::tokens::block;
use crate::object_commands::{Object, ObjectFlags};
use crate::prelude::*;
use encamp_api::{OidcCallback, Query, Received};
use encamp_host::ids;
use encamp_model::{AclAuthMethod, AclToken, AuthMethodType, SecretString};

/// The beginning of the message about a login that failed.
const FAILED: &str = "Error performing login";

/// Log in with an auth method
///
/// Exchanges an identity of another system for a token of this cluster, with the rights that the binding rules of the
/// auth method give. Prints the token with its secret, which is the value for -token and NOMAD_TOKEN.
///
/// With a method of type OIDC the command opens the page of the identity provider in a browser, prints its address, and
/// waits until the browser comes back. With a method of type JWT it needs a token of the other system; as the argument
/// or the value of -login-token, - stands for standard input.
#[derive(Debug, clap::Parser)]
pub struct Login {
    /// Name of the auth method. Default: the default method
    #[arg(
        long,
        value_name = "name",
        default_value = "",
        hide_default_value = true,
        add = CompleteWith::Live(Objects::AclAuthMethods)
    )]
    pub method: String,
    /// Type of the default method that is meant: OIDC or JWT
    #[arg(long, value_name = "type", default_value = "", hide_default_value = true)]
    pub r#type: String,
    /// Address of this machine to which the browser comes back
    #[arg(long, value_name = "address", default_value = "localhost:4649")]
    pub oidc_callback_addr: String,
    /// JSON Web Token of the other system
    #[arg(long, value_name = "token", default_value = "", hide_default_value = true)]
    pub login_token: String,
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Login {
    /// The token of the other system; none without.
    fn token(&self, context: &Context<'_, '_>) -> CommandResult<Option<SecretString>> {
        let from_input = self.login_token == "-" || !self.optional_args.is_empty();
        let given = if from_input { read_text("-", context)? } else { self.login_token.clone() };
        let given = SecretString::from(given.trim());
        match (from_input, given.is_empty()) {
            (true, true) => Err(CommandError::new("There is no token on standard input")),
            (false, true) => Ok(None),
            (_, false) => Ok(Some(given)),
        }
    }

    /// The method that is meant. A token is for methods of type JWT.
    fn chosen<'m>(&self, methods: &'m [Received<AclAuthMethod>], token: bool) -> CommandResult<&'m AclAuthMethod> {
        if !self.method.is_empty() {
            let named = methods.iter().find(|m| m.name == self.method);
            let line = format!("Error: method {} not found in the state store. ", self.method);
            return named.map(|m| &m.object).ok_or_else(|| CommandError::new(line));
        }
        let types = match (self.r#type.as_str(), token) {
            ("", true) => vec![AuthMethodType::Jwt],
            ("", false) => vec![AuthMethodType::Oidc, AuthMethodType::Jwt],
            (given, _) => vec![AuthMethodType::from(given.to_uppercase())],
        };
        let default = |t: &AuthMethodType| methods.iter().find(|m| m.default && m.r#type == *t);
        let line = "Must specify an auth method name, no default found";
        types.iter().find_map(default).map(|m| &m.object).ok_or_else(|| CommandError::new(line))
    }
}

impl Run for Login {
    const META: Meta = Meta::new("login").examples(&[
        ("Log in with a token of another system", "encamp login -method ci -login-token $CI_TOKEN"),
        ("Log in with a token that is not on the command line", "echo $CI_TOKEN | encamp login -method ci -"),
        ("Print the secret of the token", "encamp login -method ci -login-token $CI_TOKEN -t '{{.SecretID}}'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        match self.optional_args.as_slice() {
            [] => {}
            [one] if one == "-" && self.login_token.is_empty() => {}
            _ => return context.usage_error("This command takes no arguments, or - for a token on standard input"),
        }
        let ObjectFlags { format, general } = &self.flags;
        context.connected(general, |c, context| {
            let formatted = format.wanted()?;
            let given = self.token(context)?;
            let methods = c.ask(c.client.objects(&Query::default()), AclAuthMethod::LIST.failed)?;
            let chosen = self.chosen(&methods, given.is_some())?;
            let (method, kind) = (chosen.name.as_str(), &chosen.r#type);
            let by_browser = *kind == AuthMethodType::Oidc;
            let token = match (by_browser, given) {
                (true, None) => with_browser(c, context, method, &self.oidc_callback_addr)?,
                (true, Some(_)) => {
                    let line = format!(
                        "A login with the auth method {method} of type OIDC takes no token: it needs a browser"
                    );
                    return Err(CommandError::new(line));
                }
                (false, Some(given)) => c.ask(c.client.acl_login(method, given.expose()), FAILED)?,
                (false, None) => {
                    let line = format!(
                        "A login with the auth method {method} needs a token of its provider: use -login-token"
                    );
                    return Err(CommandError::new(line));
                }
            };
            if formatted {
                return format.print(context.ui, &token, AclToken::TYPE_NAME);
            }
            context.ui.output(&format!("Successfully logged in via {kind} and {method}\n\n{}", block(&token)));
            Ok(0)
        })
    }
}

/// The login of a user at the provider of a method.
fn with_browser(
    c: &Connection,
    context: &mut Context<'_, '_>,
    method: &str,
    address: &str,
) -> CommandResult<Received<AclToken>> {
    let mut bytes = [0; 32];
    ids::secret(&mut bytes).map_err(|e| CommandError::new(format!("{FAILED}: no random numbers: {e}")))?;
    let nonce = SecretString::from(URL_SAFE_NO_PAD.encode(bytes));
    let callback = c.wait(Callback::listen(address)).context(FAILED)?;
    let redirect_uri = callback.redirect_uri().to_string();
    let url = c.ask(c.client.acl_oidc_auth_url(method, &redirect_uri, &nonce), FAILED)?;
    let state = state_of(&url).context(FAILED)?;
    // Standard output is for the token.
    context.ui.error_plain(&format!("Log in at this address, which opens in your browser:\n\n    {url}\n"));
    if let Err(e) = open(&url) {
        context.ui.error_plain(&format!("The browser can't be opened ({e}): open the address yourself."));
    }
    let code = c.wait(callback.code(&state)).context(FAILED)?;
    let login = OidcCallback { method, redirect_uri: &redirect_uri, nonce: &nonce, state: &state, code: &code };
    c.ask(c.client.acl_oidc_complete_auth(&login), FAILED)
}
