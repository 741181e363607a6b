//! The first management token (`docs/spec/http-api.md §7.6`).

use std::path::PathBuf;
use std::sync::Arc;

use super::{commit, new_secret, tokens};
use crate::error::Error;
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::{ids, threads};
use encamp_model::*;
use encamp_ops::AclChange;

/// The file with which an operator proves to control the leader.
const RESET: &str = "acl-bootstrap-reset";

/// Makes the first management token; its secret is `secret`, or a random one if that is empty. A cluster that has been
/// bootstrapped gets one more if the reset file of the leader names the index of the last bootstrap. Returns the token
/// with its secret, and the index.
///
/// # Errors
/// 400: the secret is no UUID, or the cluster has been bootstrapped.
pub async fn bootstrap(server: &Leading, secret: SecretString) -> Result<(Arc<AclToken>, u64), Error> {
    server.wait_ready().await?;
    if !secret.is_empty() && !ids::is_uuid(secret.expose()) {
        return Err(Error::bad("invalid acl token"));
    }
    let done = server.snapshot().acl_bootstrap_index();
    let reset = match done {
        None => None,
        Some(index) => Some(confirmed(server, index).await?),
    };
    let mut token = AclToken {
        accessor_id: ids::uuid(),
        secret_id: if secret.is_empty() { new_secret()? } else { secret },
        name: "Bootstrap Token".into(),
        r#type: AclTokenType::Management,
        global: true,
        create_time: Time::from_unix_nanos(ids::now()),
        ..Default::default()
    };
    token.hash = Some(token.compute_hash());
    let accessor = token.accessor_id.clone();
    let change = AclChange::Bootstrap { token, reset_index: done.unwrap_or(0) };
    let index = commit(server, change).await?;
    if let Some(file) = reset {
        // A file that stays behind is worthless: the index has changed.
        let _ = threads::unblock(move || std::fs::remove_file(file)).await;
    }
    Ok((tokens::stored(server, &accessor)?, index))
}

/// The reset file, if it names the index of the last bootstrap.
async fn confirmed(server: &ServerState, index: u64) -> Result<PathBuf, Error> {
    let data_dir = server.settings().data_dir.clone();
    let above = data_dir.parent().map(|dir| dir.join(RESET));
    let files: Vec<PathBuf> = std::iter::once(data_dir.join(RESET)).chain(above).collect();
    let read = move || files.into_iter().find_map(|file| Some((std::fs::read_to_string(&file).ok()?, file)));
    let found = threads::unblock(read).await.map_err(|_| Error::internal("the agent is stopping"))?;
    let Some((text, file)) = found else {
        return Err(Error::bad(format!("ACL bootstrap already done (reset index: {index})")));
    };
    let given = text.trim().parse::<u64>().unwrap_or(0);
    if given != index {
        let text = format!("Invalid bootstrap reset index (specified {given}, reset index: {index})");
        return Err(Error::bad(text));
    }
    Ok(file)
}
