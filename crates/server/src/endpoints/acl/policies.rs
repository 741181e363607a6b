//! Policies (`docs/spec/http-api.md §7.1, §7.2`).

use super::{check_texts, commit, invalid};
use crate::Server;
use crate::error::Error;
use encamp_acl::Rules;
use encamp_model::{AclPolicy, JobAcl};
use encamp_ops::AclChange;

/// Writes a policy. Returns the index.
///
/// # Errors
/// 400: a member is invalid, or there is no leader.
pub async fn upsert(server: &Server, mut policy: AclPolicy) -> Result<u64, Error> {
    server.wait_ready().await?;
    let mut wrong = check_texts(&policy.name, &policy.description);
    if let Err(e) = Rules::parse(&policy.rules) {
        wrong.push(format!("failed to parse rules: {e}"));
    }
    wrong.extend(policy.job_acl.as_ref().and_then(check_job));
    if !wrong.is_empty() {
        return Err(invalid("policy", &wrong));
    }
    policy.hash = Some(policy.compute_hash());
    commit(server, AclChange::PolicyUpsert(vec![policy])).await
}

/// Each member of a job needs the one before it.
fn check_job(job: &JobAcl) -> Option<String> {
    let text = match job {
        JobAcl { namespace, job_id, .. } if !job_id.is_empty() && namespace.is_empty() => {
            "namespace must be set to set job ID"
        }
        JobAcl { job_id, group, .. } if !group.is_empty() && job_id.is_empty() => "job ID must be set to set group",
        JobAcl { group, task, .. } if !task.is_empty() && group.is_empty() => "group must be set to set task",
        _ => return None,
    };
    Some(text.into())
}

/// Removes a policy, if it exists. Returns the index.
///
/// # Errors
/// There is no leader.
pub async fn delete(server: &Server, name: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    commit(server, AclChange::PolicyDelete(vec![name.into()])).await
}
