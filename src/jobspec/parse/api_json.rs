use crate::model::api::job::Job;
/// x
pub fn parse_json(_body: &[u8]) -> Result<Job, String> {
    Err(String::new())
}
