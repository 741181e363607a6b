//! Users of the host.

use crate::ranges;

/// Why a task can't run as a user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UserError {
    /// The list of users can't be read.
    #[error("failed to look up user {name}: {source}")]
    Unreadable {
        /// The user.
        name: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The list of users does not have it.
    #[error("failed to look up user {0}: unknown user {0}")]
    Unknown(String),
    /// The agent's configuration forbids the user.
    #[error("running as uid {0} is disallowed")]
    DeniedUid(u32),
    /// The agent's configuration forbids the user's group.
    #[error("running as gid {0} is disallowed")]
    DeniedGid(u32),
}

/// User and group ID of a user as which tasks may run. `denied_uids`, `denied_gids`: ranges of others.
///
/// # Errors
/// The user is unknown or denied.
pub(crate) fn permitted(name: &str, denied_uids: &str, denied_gids: &str) -> Result<(u32, u32), UserError> {
    let (uid, gid) = ids(name)?;
    if ranges::contains(denied_uids, uid.into()) {
        return Err(UserError::DeniedUid(uid));
    }
    if ranges::contains(denied_gids, gid.into()) {
        return Err(UserError::DeniedGid(gid));
    }
    Ok((uid, gid))
}

/// The same as [`ids`]; `None` for an empty name, which stands for the agent's user.
///
/// # Errors
/// The user is unknown.
pub(crate) fn ids_unless_empty(name: &str) -> Result<Option<(u32, u32)>, UserError> {
    if name.is_empty() { Ok(None) } else { ids(name).map(Some) }
}

/// User and group ID of a user, named or numbered.
///
/// # Errors
/// The list of users can't be read, or does not have it.
pub(crate) fn ids(name: &str) -> Result<(u32, u32), UserError> {
    let unreadable = |source| UserError::Unreadable { name: name.to_string(), source };
    let passwd = std::fs::read_to_string("/etc/passwd").map_err(unreadable)?;
    let found = passwd.lines().find_map(|line| {
        let f: Vec<&str> = line.split(':').collect();
        let (uid, gid) = (f.get(2)?.parse().ok()?, f.get(3)?.parse().ok()?);
        (f.first() == Some(&name) || f.get(2) == Some(&name)).then_some((uid, gid))
    });
    found.ok_or_else(|| UserError::Unknown(name.to_string()))
}

/// User and group ID of a text with numbers, `uid` or `uid:gid`; a group that is not given is the user's number.
pub(crate) fn numeric_ids(text: &str) -> Option<(u32, u32)> {
    let (user, group) = text.split_once(':').unwrap_or((text, text));
    Some((user.parse().ok()?, group.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_users() {
        assert_eq!(numeric_ids("7"), Some((7, 7)));
        assert_eq!(numeric_ids("7:8"), Some((7, 8)));
        assert_eq!((numeric_ids("bob"), numeric_ids("7:bob"), numeric_ids("")), (None, None, None));
    }
}
