//! Wrapping, unwrapping and using keys; keeping the keyring in sync with the store.

use std::sync::Arc;
use std::time::Duration;

use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::{Value, json};

use super::*;
use crate::fsm::{Limits, apply};
use crate::tests::refusal;
use encamp_model::{Bytes, RootKey};
use encamp_ops::{Operation, Reply};

use RootKeyState::{Active, Inactive, Prepublished, Rekeying};

fn key(id: &str, state: RootKeyState) -> Arc<WrappedRootKey> {
    let meta = RootKey { key_id: id.into(), state, create_time: 7, ..Default::default() };
    Arc::new(material::generate(meta).unwrap())
}

fn put(store: &mut StateStore, index: u64, key: Arc<WrappedRootKey>, rekey: bool) -> Reply {
    apply(store, index, &Operation::RootKeyUpsert { key, rekey }, Limits::default()).reply
}

fn states(store: &StateStore) -> Vec<(&str, RootKeyState)> {
    store.root_keys().map(|k| (k.meta.key_id.as_str(), k.meta.state.clone())).collect()
}

/// Whether a token was signed with a key.
pub(crate) fn verified(token: &str, key: &PublicKey) -> bool {
    use base64::Engine;
    let (text, signature) = token.rsplit_once('.').unwrap();
    let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(signature).unwrap();
    let public = RsaPublicKeyComponents { n: &key.n, e: &key.e };
    public.verify(&RSA_PKCS1_2048_8192_SHA256, text.as_bytes(), &signature).is_ok()
}

#[tokio::test]
async fn keys_encrypt_and_sign() {
    let keyring = Keyring::default();
    assert_eq!(keyring.encrypt(b"x"), Err(KeyringError::NoActiveKey));
    assert!(!keyring.wait_active(Duration::from_millis(1)).await);
    let mut store = StateStore::new();
    let wrapped = key("k1", Active);
    assert!(!format!("{wrapped:?}").contains(&format!("{:?}", wrapped.kek.expose())), "{wrapped:?}");
    put(&mut store, 5, wrapped.clone(), false);
    keyring.follow(&store);
    assert!(keyring.wait_active(Duration::from_millis(1)).await);
    assert_eq!(keyring.active_id().as_deref(), Some("k1"));

    let Sealed { key_id, data: Bytes(data) } = keyring.encrypt(b"{\"a\":\"b\"}").unwrap();
    assert_eq!((key_id.as_str(), data.len()), ("k1", 12 + 9 + 16));
    assert_eq!(*keyring.decrypt("k1", &data).unwrap(), b"{\"a\":\"b\"}");
    assert_ne!(keyring.encrypt(b"{\"a\":\"b\"}").unwrap().data.0, data, "each encryption has its own nonce");
    let broken = |d: &[u8]| keyring.decrypt("k1", d) == Err(KeyringError::Undecryptable("k1".into()));
    let mut changed = data.clone();
    changed[12] ^= 1;
    assert!(broken(&changed) && broken(&data[..27]) && broken(b"") && broken(&data[1..]));
    assert_eq!(keyring.decrypt("k2", &data), Err(KeyringError::UnknownKey("k2".into())));

    let (token, by) = keyring.sign(&json!({"sub": "a"})).unwrap();
    assert_eq!(by, "k1");
    let public = keyring.public_key("k1").unwrap();
    assert_eq!((public.n.len(), public.e.as_slice()), (256, &[1, 0, 1][..]));
    assert!(verified(&token, &public) && !verified(&token.replacen("ey", "fy", 1), &public));
    assert_eq!(jwt::claims::<Value>(&token), Some(json!({"sub": "a"})));
    assert_eq!(keyring.sign_with("k1", &json!({"sub": "a"})).unwrap(), token);
    assert_eq!(jwt::claims::<Value>("a.b"), None);

    let again = Keyring::default();
    again.follow(&store);
    assert_eq!(*again.decrypt("k1", &data).unwrap(), b"{\"a\":\"b\"}");
    let spoilt = WrappedRootKey { kek: vec![0; 32].into(), ..WrappedRootKey::clone(&wrapped) };
    let again = Keyring::default();
    again.add(&spoilt);
    assert!(!again.has("k1"));
}

#[test]
fn the_active_key_is_replaced() {
    let mut store = StateStore::new();
    let keyring = Keyring::default();
    for (index, id, state) in [(2, "a", Active), (3, "b", Active), (4, "c", Prepublished)] {
        assert_eq!(put(&mut store, index, key(id, state), false), Reply::Done);
    }
    assert_eq!(states(&store), [("a", Inactive), ("b", Active), ("c", Prepublished)]);
    keyring.follow(&store);
    assert_eq!(keyring.active_id().as_deref(), Some("b"));
    assert!(["a", "b", "c"].iter().all(|id| keyring.has(id)));
    let refused = put(&mut store, 5, key("d", Prepublished), true);
    assert_eq!(refusal(refused), "cannot rekey without setting the new key active");
    assert_eq!(put(&mut store, 6, key("d", Active), true), Reply::Done);
    assert_eq!(states(&store), [("a", Rekeying), ("b", Rekeying), ("c", Prepublished), ("d", Active)]);
    let mut c = WrappedRootKey::clone(store.root_key("c").unwrap());
    (c.meta.state, c.meta.create_time) = (Active, 99);
    put(&mut store, 7, Arc::new(c), false);
    assert_eq!(states(&store), [("a", Rekeying), ("b", Rekeying), ("c", Active), ("d", Inactive)]);
    let meta = &store.root_key("c").unwrap().meta;
    assert_eq!((meta.create_time, meta.create_index, meta.modify_index), (7, 4, 7));
    assert_eq!(store.index_of(encamp_state::Table::RootKeys), 7);

    let delete = |store: &mut StateStore, id: &str| {
        apply(store, 8, &Operation::RootKeyDelete { id: id.into(), force: false }, Limits::default()).reply
    };
    assert_eq!(delete(&mut store, "a"), Reply::Done);
    assert_eq!(refusal(delete(&mut store, "a")), "root key not found");
    keyring.follow(&store);
    assert!(!keyring.has("a") && keyring.has("b"));
}
