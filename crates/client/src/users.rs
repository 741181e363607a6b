//! Users of the host.

/// User and group ID of a user, named or numbered.
///
/// # Errors
/// The list of users can't be read, or does not have it.
pub(crate) fn ids(name: &str) -> Result<(u32, u32), String> {
    let passwd = std::fs::read_to_string("/etc/passwd").map_err(|e| format!("failed to look up user {name}: {e}"))?;
    let found = passwd.lines().find_map(|line| {
        let f: Vec<&str> = line.split(':').collect();
        let (uid, gid) = (f.get(2)?.parse().ok()?, f.get(3)?.parse().ok()?);
        (f.first() == Some(&name) || f.get(2) == Some(&name)).then_some((uid, gid))
    });
    found.ok_or_else(|| format!("failed to look up user {name}: unknown user {name}"))
}
