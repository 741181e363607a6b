//! Looking up objects with UUIDs by ID prefix (`docs/spec/cli.md §4.2`).

use super::connection::Connection;
use super::objects::even;
use super::render::{deployments, evaluations};
use encamp_api::types::ScalingPolicyListStub;
use encamp_api::{Meta, Query};
use encamp_model::{Deployment, Evaluation, quoted};

/// The length of a full ID.
const FULL: usize = 36;

/// The prefix for the request to the servers: full bytes. An error if fewer than two characters were given.
pub fn whole_bytes(given: &str, too_short: &str) -> Result<String, String> {
    if given.chars().count() == 1 {
        return Err(too_short.into());
    }
    Ok(even(given).to_string())
}

/// The error for IDs that are too short, except of some commands.
pub const TOO_SHORT: &str = "Identifier must contain at least two characters.";

/// The list entry of the evaluation with this ID prefix.
pub fn evaluation(connection: &Connection, given: &str) -> Result<Evaluation, String> {
    let prefix = whole_bytes(given, TOO_SHORT)?;
    let query = Query::default().with("prefix", prefix);
    let found = connection.wait(connection.client.rows::<Evaluation>("/v1/evaluations", &query));
    let (mut found, _) = found.map_err(|e| format!("Error querying evaluation: {e}"))?;
    evaluations::sort(&mut found);
    if found.len() > 1 {
        let table = evaluations::listed(&found, false);
        return Err(format!("Prefix matched multiple evaluations\n\n{table}"));
    }
    found.pop().ok_or_else(|| format!("No evaluation(s) with prefix or id {} found", quoted(given)))
}

/// The deployment with this ID prefix, and the index of the response.
pub fn deployment(connection: &Connection, given: &str, verbose: bool) -> Result<(Deployment, Meta), String> {
    let failed = |e: String| format!("Error retrieving deployment: {e}");
    if given.len() == FULL {
        let read = connection.wait(connection.client.deployment(given, None, None));
        return read.map_err(|e| failed(e.to_string()));
    }
    let digits: String = given.chars().filter(|c| *c != '-').collect();
    let prefix = whole_bytes(&digits, TOO_SHORT).map_err(failed)?;
    // Servers compare with hyphens.
    let prefix = hyphenated(&prefix);
    let found = connection.wait(connection.client.deployments_with_prefix(&prefix));
    let (mut found, meta) = found.map_err(|e| failed(e.to_string()))?;
    deployments::sort(&mut found);
    if found.len() > 1 {
        let table = deployments::listed(&found, verbose);
        return Err(format!("Prefix matched multiple deployments\n\n{table}"));
    }
    let found = found.pop();
    let found = found.ok_or_else(|| failed(format!("Deployment ID {} matched no deployments", quoted(given))))?;
    Ok((found, meta))
}

/// A UUID prefix with its hyphens.
fn hyphenated(digits: &str) -> String {
    let mut out = String::with_capacity(FULL);
    for (i, c) in digits.chars().enumerate() {
        if matches!(i, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        out.push(c);
    }
    out
}

/// The ID of the scaling policy with this ID prefix.
pub fn scaling_policy(connection: &Connection, given: &str) -> Result<String, String> {
    let prefix = whole_bytes(given, TOO_SHORT)?;
    let query = Query::default().with("prefix", prefix.as_str());
    let found = connection.wait(connection.client.rows::<ScalingPolicyListStub>("/v1/scaling/policies", &query));
    let (mut found, _) = found.map_err(|e| format!("Error querying scaling policy: {e}"))?;
    // Servers may return all policies.
    found.retain(|p| p.id.starts_with(&prefix));
    if found.len() > 1 {
        let table = super::scaling_policy::listed(&mut found, false);
        return Err(format!("Prefix matched multiple scaling policies\n\n{table}"));
    }
    found.pop().map(|p| p.id).ok_or_else(|| format!("No scaling policies with prefix or id {} found", quoted(given)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_cut_to_whole_bytes() {
        let cut = |given| whole_bytes(given, TOO_SHORT);
        assert_eq!(cut("abc"), Ok("ab".into()));
        assert_eq!(cut("abcdef12-3"), Ok("abcdef12-".into()));
        assert_eq!(cut("abcdef12-34"), Ok("abcdef12-34".into()));
        assert_eq!(cut(""), Ok(String::new()));
        assert_eq!(cut("a"), Err(TOO_SHORT.into()));
        assert_eq!(hyphenated("aabbccddeeff0011"), "aabbccdd-eeff-0011");
    }
}
