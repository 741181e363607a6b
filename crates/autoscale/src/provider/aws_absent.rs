//! Replaces the provider `aws` in builds without it: a pool that requests it gets an error that says so.

use super::{Answer, GroupId, Provider, ProviderError, ScalingGroup};

/// The provider `aws` of a build without it: every call fails.
#[derive(Debug, Default)]
pub struct Aws;

impl Aws {
    /// The provider that fails.
    pub fn new() -> Aws {
        Aws
    }
}

fn absent<'a, T: Send + 'a>() -> Answer<'a, T> {
    let error = ProviderError::Failed("this build has no provider aws: it was built without the feature `aws`".into());
    Box::pin(std::future::ready(Err(error)))
}

impl Provider for Aws {
    fn group<'a>(&'a self, _: GroupId<'a>) -> Answer<'a, ScalingGroup> {
        absent()
    }

    fn set_desired<'a>(&'a self, _: GroupId<'a>, _: i64) -> Answer<'a, ()> {
        absent()
    }

    fn terminate<'a>(&'a self, _: GroupId<'a>, _: &'a str, _: bool) -> Answer<'a, ()> {
        absent()
    }

    fn detach<'a>(&'a self, _: GroupId<'a>, _: &'a str) -> Answer<'a, ()> {
        absent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_says_why() {
        let error = Aws::new().group(GroupId { pool: "web", region: "r" }).await.unwrap_err();
        assert!(error.to_string().contains("feature `aws`"), "{error}");
    }
}
