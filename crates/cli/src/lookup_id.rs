//! Looking up objects with UUIDs by ID prefix (`docs/spec/cli.md §4.2`).

use super::connection::Connection;
use super::error::{CommandResult, ErrorContext};
use super::lookup::LookupError;
use super::object_kinds::Objects;
use super::objects::{even, long_enough};
use super::render::{deployments, evaluations};
use encamp_api::{Meta, Query};
use encamp_model::responses::ScalingPolicyListStub;
use encamp_model::{Deployment, Evaluation, quoted};

/// The length of a full ID.
const FULL: usize = 36;

/// The prefix for the request to the servers: full bytes. An error if fewer than two characters were given.
fn whole_bytes(given: &str) -> Result<&str, LookupError> {
    long_enough(given, "Identifier")?;
    Ok(even(given))
}

/// The list entry of the evaluation with this ID prefix.
pub fn evaluation(connection: &Connection, given: &str) -> Result<Evaluation, LookupError> {
    let prefix = whole_bytes(given)?;
    let query = Query::default().with("prefix", prefix);
    let found = connection.wait(connection.client.rows::<Evaluation>("/v1/evaluations", &query));
    let (mut found, _) = found.map_err(LookupError::request("Error querying evaluation"))?;
    evaluations::sort(&mut found);
    if found.len() > 1 {
        let line = "Prefix matched multiple evaluations".to_string();
        return Err(LookupError::Ambiguous {
            objects: Some(Objects::Evaluations),
            line,
            list: evaluations::listed(&found, false),
        });
    }
    let none = || LookupError::NotFound(format!("No evaluation(s) with prefix or id {} found", quoted(given)));
    found.pop().ok_or_else(none)
}

/// The deployment with this ID prefix, and the index of the response.
pub fn deployment(connection: &Connection, given: &str, verbose: bool) -> CommandResult<(Deployment, Meta)> {
    const FAILED: &str = "Error retrieving deployment";
    if given.len() == FULL {
        let read = connection.wait(connection.client.deployment(given, None, None));
        return read.context(FAILED);
    }
    let digits: String = given.chars().filter(|c| *c != '-').collect();
    let prefix = whole_bytes(&digits).context(FAILED)?;
    // Servers compare with hyphens.
    let prefix = hyphenated(prefix);
    let found = connection.wait(connection.client.deployments_with_prefix(&prefix));
    let (mut found, meta) = found.context(FAILED)?;
    deployments::sort(&mut found);
    if found.len() > 1 {
        let line = "Prefix matched multiple deployments".to_string();
        return Err(LookupError::Ambiguous {
            objects: Some(Objects::Deployments),
            line,
            list: deployments::listed(&found, verbose),
        }
        .into());
    }
    let none = || LookupError::NotFound(format!("Deployment ID {} matched no deployments", quoted(given)));
    let found = found.pop().ok_or_else(none).context(FAILED)?;
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
pub fn scaling_policy(connection: &Connection, given: &str) -> Result<String, LookupError> {
    let prefix = whole_bytes(given)?;
    let query = Query::default().with("prefix", prefix);
    let found = connection.wait(connection.client.rows::<ScalingPolicyListStub>("/v1/scaling/policies", &query));
    let (mut found, _) = found.map_err(LookupError::request("Error querying scaling policy"))?;
    // Servers may return all policies.
    found.retain(|p| p.id.starts_with(prefix));
    if found.len() > 1 {
        let line = "Prefix matched multiple scaling policies".to_string();
        return Err(LookupError::Ambiguous {
            objects: None,
            line,
            list: super::scaling_policy::listed(&mut found, false),
        });
    }
    let none = || LookupError::NotFound(format!("No scaling policies with prefix or id {} found", quoted(given)));
    found.pop().map(|p| p.id).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_cut_to_whole_bytes() {
        let cut = |given| whole_bytes(given).map_err(|e| e.to_string());
        assert_eq!(cut("abc"), Ok("ab"));
        assert_eq!(cut("abcdef12-3"), Ok("abcdef12-"));
        assert_eq!(cut("abcdef12-34"), Ok("abcdef12-34"));
        assert_eq!(cut(""), Ok(""));
        assert_eq!(cut("a"), Err("Identifier must contain at least two characters.".into()));
        assert_eq!(hyphenated("aabbccddeeff0011"), "aabbccdd-eeff-0011");
    }
}
