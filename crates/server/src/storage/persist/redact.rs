//! Copies of snapshots without their secrets.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::parts::Packer;
use super::record::{Record, VERSION};
use super::records;
use encamp_model::*;
use encamp_ops::codec;

impl Record {
    /// The record without its secrets; `None` if nothing is left. Lists all records, so that a new one has to be thought
    /// of here.
    fn redacted(mut self, fresh: &mut dyn FnMut() -> String) -> Option<Record> {
        match &mut self {
            Record::OneTimeToken(_) => return None,
            Record::Node(node) => Arc::make_mut(node).secret_id = fresh().into(),
            Record::AclToken(token) => Arc::make_mut(token).secret_id = fresh().into(),
            Record::Eval(eval) => Arc::make_mut(eval).leader_acl = SecretString::default(),
            Record::Submission(submission) => {
                let submission = Arc::make_mut(submission);
                submission.variable_flags.clear();
                submission.variables.clear();
            }
            Record::Variable(variable) => {
                let variable = Arc::make_mut(variable);
                (variable.data, variable.lock) = (Bytes::default(), None);
            }
            Record::CsiVolume(volume) => Arc::make_mut(volume).redact(),
            Record::RootKey(key) => {
                let key = Arc::make_mut(key);
                key.meta.redact();
                (key.data_key, key.rsa_key, key.kek) = Default::default();
            }
            Record::AclAuthMethod(method) => {
                if let Some(config) = &mut Arc::make_mut(method).config {
                    config.oidc_client_secret = SecretString::default();
                    if let Some(assertion) = &mut config.oidc_client_assertion {
                        assertion.client_secret = SecretString::default();
                        if let Some(key) = &mut assertion.private_key {
                            key.pem_key = SecretString::default();
                        }
                    }
                }
            }
            Record::Header { .. }
            | Record::NodePool(_)
            | Record::Namespace(_)
            | Record::Job(_)
            | Record::AllocJob(_)
            | Record::Alloc(_)
            | Record::Deployment(_)
            | Record::Summary(_)
            | Record::Launch(_)
            | Record::ScalingPolicy(_)
            | Record::ScalingEvents(_)
            | Record::Service(_)
            | Record::CsiPlugin(_)
            | Record::HostVolume(_)
            | Record::HostVolumeClaim(_)
            | Record::SchedulerConfig(_)
            | Record::Autopilot(_)
            | Record::ClusterMetadata(_)
            | Record::CapabilityLevel(_)
            | Record::AclPolicy(_)
            | Record::AclRole(_)
            | Record::AclBindingRule(_)
            | Record::NodeRevocation(_)
            | Record::Index(..)
            | Record::Part(_)
            | Record::End => {}
        }
        Some(self)
    }
}

/// Copies a snapshot without its secrets (`docs/spec/snapshot-archive.md §14.1`). `fresh` makes secret IDs that nobody
/// knows: an empty one would be easy to guess.
///
/// # Errors
/// It is no snapshot of this version, it is damaged, or it cannot be written.
pub fn redact(from: &mut dyn Read, mut to: &mut dyn Write, fresh: &mut dyn FnMut() -> String) -> io::Result<()> {
    let mut parts = Packer::default();
    let to = std::cell::RefCell::new(&mut to);
    let head = |version: u32| {
        let header = Record::Header { version: version.max(VERSION) };
        codec::encode_to(&header, &mut *to.borrow_mut()).map_err(io::Error::other)
    };
    records::each_with_version(from, head, |record, _| {
        if let Some(record) = record.redacted(fresh) {
            parts.add(&record)?;
        }
        to.borrow_mut().write_all(&parts.take_complete())
    })?;
    let to = to.into_inner();
    to.write_all(&parts.finish()?)?;
    codec::encode_to(&Record::End, to).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use encamp_state::StateStore;

    use super::super::{is_snapshot, read, visit, write};
    use super::*;

    const SECRET: &str = "s3cret";

    fn has(bytes: &[u8], text: &str) -> bool {
        bytes.windows(text.len()).any(|w| w == text.as_bytes())
    }

    #[test]
    fn a_redacted_snapshot_has_no_secrets_and_everything_else() {
        let secret = || SecretString::new(SECRET);
        let mut store = StateStore::default();
        store.put_node(Arc::new(Node { id: "n1".into(), secret_id: secret(), ..Node::default() }));
        store.put_eval(Arc::new(Evaluation { id: "e1".into(), leader_acl: secret(), ..Evaluation::default() }));
        for accessor in ["t1", "t2"] {
            let token = AclToken { accessor_id: accessor.into(), secret_id: secret(), ..AclToken::default() };
            store.put_acl_token(Arc::new(token));
        }
        let key = OidcClientAssertionKey { pem_key: secret(), key_id: "kid".into(), ..Default::default() };
        let assertion =
            OidcClientAssertion { private_key: Some(key), client_secret: secret(), ..OidcClientAssertion::default() };
        let config = AclAuthMethodConfig {
            oidc_client_secret: secret(),
            oidc_client_assertion: Some(assertion),
            ..AclAuthMethodConfig::default()
        };
        let method = AclAuthMethod { name: "m".into(), config: Some(config), ..AclAuthMethod::default() };
        store.put_acl_auth_method(Arc::new(method));
        store.put_one_time_token(Arc::new(OneTimeToken { one_time_secret_id: secret(), ..OneTimeToken::default() }));
        store.put_submission(Arc::new(JobSubmission {
            job_id: "j".into(),
            source: "job {}".into(),
            variable_flags: [("password".to_string(), SECRET.to_string())].into(),
            variables: SECRET.into(),
            ..JobSubmission::default()
        }));
        store.put_variable(Arc::new(VariableEncrypted {
            path: "a/b".into(),
            data: Bytes(SECRET.into()),
            lock: Some(VariableLock { id: SECRET.into(), ..VariableLock::default() }),
            ..VariableEncrypted::default()
        }));
        let options = CsiMountOptions { fs_type: "ext4".into(), mount_flags: vec![SECRET.into()] };
        store.put_csi_volume(Arc::new(CsiVolume {
            id: "v".into(),
            secrets: [("k".to_string(), secret())].into(),
            mount_options: Some(options),
            ..CsiVolume::default()
        }));
        store.put_root_key(Arc::new(WrappedRootKey {
            meta: RootKey { key_id: "k1".into(), ..RootKey::default() },
            data_key: SECRET.as_bytes().to_vec().into(),
            rsa_key: SECRET.as_bytes().to_vec().into(),
            kek: SECRET.as_bytes().to_vec().into(),
        }));
        let mut before = Vec::new();
        write(&store, &mut before).unwrap();
        assert!(has(&before, SECRET) && is_snapshot(&before) && !is_snapshot(b"\x80"));

        let (mut after, mut made) = (Vec::new(), 0);
        let mut fresh = || {
            made += 1;
            format!("fresh-{made}")
        };
        redact(&mut before.as_slice(), &mut after, &mut fresh).unwrap();
        assert!(!has(&after, SECRET), "{}", String::from_utf8_lossy(&after));
        let read = read(&mut after.as_slice()).unwrap();
        assert_eq!(read.acl_tokens().count(), 2);
        assert!(read.acl_tokens().all(|t| t.secret_id.expose().starts_with("fresh-")));
        assert!(read.state().node("n1").is_some_and(|n| n.node.secret_id.expose().starts_with("fresh-")));
        assert_eq!(read.root_keys().next().unwrap().meta.key_id, "k1 [REDACTED]");
        assert_eq!(read.variables().next().unwrap().path, "a/b");
        assert_eq!(read.all_submissions().next().unwrap().source, "job {}");
        assert_eq!(read.one_time_tokens().count(), 0);
        let kinds = |bytes: &[u8]| {
            let mut kinds = Vec::new();
            visit(&mut &*bytes, |found| {
                kinds.push(found.kind);
                Ok(())
            })
            .unwrap();
            kinds.retain(|kind| *kind != "OneTimeToken");
            kinds
        };
        assert_eq!(kinds(&after), kinds(&before));
        assert!(redact(&mut &before[..before.len() / 2], &mut Vec::new(), &mut String::new).is_err());
    }
}
