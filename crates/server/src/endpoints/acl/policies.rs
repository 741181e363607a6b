//! Policies (`docs/spec/http-api.md §7.1, §7.2`).

use super::{check_texts, commit, invalid};
use crate::error::Error;
use crate::leading::Leading;
use encamp_acl::Rules;
use encamp_acl::policy::LONGEST as LONGEST_RULES;
use encamp_model::{AclPolicy, JobAcl};
use encamp_ops::AclChange;

/// Writes a policy. Returns the index.
///
/// # Errors
/// 400: a member is invalid, or there is no leader.
pub async fn upsert(server: &Leading, mut policy: AclPolicy) -> Result<u64, Error> {
    server.wait_ready().await?;
    let wrong = check(&policy);
    if !wrong.is_empty() {
        return Err(invalid("policy", &wrong));
    }
    policy.hash = Some(policy.compute_hash());
    commit(server, AclChange::PolicyUpsert(vec![policy])).await
}

fn check(policy: &AclPolicy) -> Vec<String> {
    let mut wrong = check_texts(&policy.name, &policy.description);
    if policy.rules.len() > LONGEST_RULES {
        wrong.push(format!("rules of {} bytes are longer than {LONGEST_RULES}", policy.rules.len()));
    } else if let Err(e) = Rules::parse(&policy.rules) {
        wrong.push(format!("failed to parse rules: {e}"));
    }
    wrong.extend(policy.job_acl.as_ref().and_then(check_job));
    wrong
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
pub async fn delete(server: &Leading, name: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    commit(server, AclChange::PolicyDelete(vec![name.into()])).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_policies() {
        let policy = |rules: &str| AclPolicy { name: "dev".into(), rules: rules.into(), ..Default::default() };
        let read = r#"namespace "default" { policy = "read" }"#;
        assert_eq!(check(&policy(read)), Vec::<String>::new());
        assert_eq!(check(&policy("")), Vec::<String>::new(), "a policy may grant nothing");
        let job = |namespace: &str, job_id: &str, group: &str, task: &str| {
            let [namespace, job_id, group, task] = [namespace, job_id, group, task].map(String::from);
            AclPolicy { job_acl: Some(JobAcl { namespace, job_id, group, task }), ..policy(read) }
        };
        assert_eq!(check(&job("default", "web", "g", "t")), Vec::<String>::new());
        let long = format!("#{}", "x".repeat(LONGEST_RULES));
        for (policy, wrong) in [
            (AclPolicy { name: "a b".into(), ..policy(read) }, "invalid name 'a b'"),
            (AclPolicy { name: "n".repeat(129), ..policy(read) }, &format!("invalid name '{}'", "n".repeat(129))),
            (AclPolicy { description: "d".repeat(257), ..policy(read) }, "description longer than 256"),
            (job("", "web", "", ""), "namespace must be set to set job ID"),
            (job("default", "", "g", ""), "job ID must be set to set group"),
            (job("default", "web", "", "t"), "group must be set to set task"),
            (policy(&long), "rules of 1048577 bytes are longer than 1048576"),
        ] {
            assert_eq!(check(&policy), [wrong]);
        }
        assert!(check(&policy("namespace {")).iter().all(|w| w.starts_with("failed to parse rules: ")));
        assert_eq!(check(&policy("namespace {")).len(), 1);
    }
}
