//! Secrets that commands about CSI volumes pass to storage plugins: in a header, so that no log of requests shows them.

use serde_json::{Map, Value};

use crate::connection::Connection;
use crate::error::{CommandError, CommandResult, ErrorContext};
use encamp_api::stream::RawRequest;
use encamp_api::{ApiError, Query};

/// The header that carries secrets: `key=value`, separated by commas.
const HEADER: &str = "X-Nomad-CSI-Secrets";
/// The longest answer that is read, in bytes.
const LONGEST_ANSWER: usize = 16 << 20;

/// The flag for secrets.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SecretFlags {
    /// Secret for the storage plugin as key=value; may be given several times
    #[arg(long = "secret", value_name = "key=value")]
    pub secret: Vec<String>,
}

/// The pairs of flags of the form `key=value`.
pub fn pairs(flag: &str, given: &[String]) -> CommandResult<Map<String, Value>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_string(), Value::String(value.into()))),
        // The text may be a secret.
        _ => Err(CommandError::new(format!("Error parsing -{flag}: the value must have the form key=value"))),
    };
    given.iter().map(pair).collect()
}

impl SecretFlags {
    /// Sends a request with the secrets in a header; gives the answer.
    ///
    /// # Errors
    /// A secret has a form that a header cannot carry, or the request failed, which `what` names.
    pub fn send(
        &self,
        c: &Connection,
        method: &str,
        path: String,
        query: Query,
        what: &'static str,
    ) -> CommandResult<Vec<u8>> {
        pairs("secret", &self.secret)?;
        if self.secret.iter().any(|s| s.contains(',') || s.chars().any(char::is_control)) {
            return Err(CommandError::new("Error parsing -secret: secrets must not contain commas or line breaks"));
        }
        let mut request = RawRequest { method: method.into(), path, query, ..RawRequest::default() };
        if !self.secret.is_empty() {
            request.headers.push((HEADER.into(), self.secret.join(",")));
        }
        c.wait(answer(c, &request)).context(what)
    }
}

async fn answer(c: &Connection, request: &RawRequest) -> Result<Vec<u8>, ApiError> {
    let mut stream = c.client.accepted(request, false).await?;
    let mut answer = Vec::new();
    while let Some(chunk) = stream.next().await? {
        answer.extend(chunk);
        if answer.len() > LONGEST_ANSWER {
            break;
        }
    }
    Ok(answer)
}
