//! Jobs by namespace and ID.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::alloc::Allocation;
use super::eval::{Deployment, Evaluation};
use super::job::Job;

/// What identifies a job in a cluster. Encoded as a list of the two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey {
    /// The namespace.
    pub namespace: String,
    /// The ID in the namespace.
    pub id: String,
}

impl JobKey {
    /// The key of a job.
    pub fn new(namespace: impl Into<String>, id: impl Into<String>) -> JobKey {
        JobKey { namespace: namespace.into(), id: id.into() }
    }
}

impl Job {
    /// The key of the job.
    pub fn key(&self) -> JobKey {
        JobKey::new(&self.namespace, &self.id)
    }
}

impl Allocation {
    /// The key of the allocation's job.
    pub fn job_key(&self) -> JobKey {
        JobKey::new(&self.namespace, &self.job_id)
    }
}

impl Evaluation {
    /// The key of the evaluation's job.
    pub fn job_key(&self) -> JobKey {
        JobKey::new(&self.namespace, &self.job_id)
    }
}

impl Deployment {
    /// The key of the deployment's job.
    pub fn job_key(&self) -> JobKey {
        JobKey::new(&self.namespace, &self.job_id)
    }
}

impl Serialize for JobKey {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        (&self.namespace, &self.id).serialize(s)
    }
}

impl<'de> Deserialize<'de> for JobKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<JobKey, D::Error> {
        let (namespace, id) = Deserialize::deserialize(d)?;
        Ok(JobKey { namespace, id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded_as_lists() {
        let key = Job { namespace: "default".into(), id: "web".into(), ..Job::default() }.key();
        let text = serde_json::to_string(&key).expect("JSON");
        assert_eq!(text, r#"["default","web"]"#);
        assert_eq!(serde_json::from_str::<JobKey>(&text).expect("a key"), key);
    }

    #[test]
    fn keys_are_ordered_by_namespace_then_by_id() {
        let mut keys = [JobKey::new("b", "a"), JobKey::new("a", "c"), JobKey::new("a", "b")];
        keys.sort();
        assert_eq!(keys.map(|k| format!("{}/{}", k.namespace, k.id)), ["a/b", "a/c", "b/a"]);
    }
}
