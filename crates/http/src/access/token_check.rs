//! Checks of tokens before a request has a route: guesses are limited, and requests of tasks need a token.

use super::authorization::resolve;
use crate::agent::state::AppState;
use crate::error::Error;
use crate::serve::http1::Origin;
use encamp_model::outcome::NO_LEADER;
use encamp_server::acl::Denied;

/// Counts a request whose token is not valid.
///
/// # Errors
/// 429: its origin sent too many unknown tokens.
pub(crate) fn refuse_guesses(app: &AppState, origin: Option<&Origin>, denied: Denied) -> Result<(), Error> {
    app.metrics().count("nomad.acl.auth_failures", 1, &[]);
    let (Some(origin), Denied::Unknown | Denied::Malformed) = (origin, denied) else { return Ok(()) };
    app.auth_limit().lock().failed(origin, encamp_host::ids::now()).map_err(|wait| {
        app.metrics().count("nomad.acl.auth_throttled", 1, &[]);
        let seconds = wait.as_secs().max(1);
        Error::new(429, format!("Too many requests with unknown tokens from {origin}; try again in {seconds} s"))
    })
}

/// Checks the token of a request on a task's socket.
///
/// # Errors
/// 401: there is none. 403: with access control, it is not valid. 429: the task guesses. 500: no server can be asked.
pub(crate) async fn check_task_token(app: &AppState, origin: &Origin, token: String) -> Result<(), Error> {
    if token.is_empty() {
        return Err(Error::new(401, "Unauthorized"));
    }
    let Err(denied) = resolve(app, &token).await else { return Ok(()) };
    refuse_guesses(app, Some(origin), denied)?;
    Err(match denied {
        Denied::Unreachable => Error::internal(NO_LEADER),
        Denied::Unknown | Denied::Expired | Denied::Malformed | Denied::NotRunning => Error::new(403, "Forbidden"),
    })
}
