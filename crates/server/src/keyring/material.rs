//! Root key material (`docs/spec/http-api.md §9.1-9.3`): a data key (AES-256-GCM) and a 2048-bit RSA key, both wrapped
//! with a key-encryption key that is generated for them and stored next to them.

use std::fmt;
use std::sync::Arc;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rsa::{KeyPair, PublicKeyComponents};
use rsa::pkcs1::EncodeRsaPrivateKey;
use rsa::rand_core::{CryptoRng, Error as RandomError, RngCore};
use zeroize::Zeroizing;

use super::{KeyringError, PublicKey};
use encamp_host::ids;
use encamp_model::{RootKey, SecretBytes, WrappedRootKey};

/// The algorithm name of data keys in key metadata.
pub(crate) const ALGORITHM: &str = "aes256-gcm";
/// Bytes of a data key or key-encryption key.
const KEY_LEN: usize = 32;
/// Bits of an RSA key.
const RSA_BITS: usize = 2048;

/// An unwrapped root key.
pub(super) struct Key {
    pub id: Arc<str>,
    pub data: LessSafeKey,
    pub rsa: Option<KeyPair>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl Key {
    pub(crate) fn public(&self) -> Option<PublicKey> {
        let parts = PublicKeyComponents::<Vec<u8>>::from(self.rsa.as_ref()?.public());
        Some(PublicKey { key_id: self.id.to_string(), n: parts.n, e: parts.e })
    }
}

/// System randomness for the `rsa` crate. The crate cannot handle errors while it generates a key; they are recorded.
struct SystemRandom {
    failed: bool,
    fallback: u64,
}

impl RngCore for SystemRandom {
    fn next_u32(&mut self) -> u32 {
        rsa::rand_core::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rsa::rand_core::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            // Any varying bytes end the search for primes; the key is discarded.
            self.failed = true;
            for b in bytes {
                self.fallback = self.fallback.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *b = (self.fallback >> 56) as u8;
            }
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for SystemRandom {}

/// Generates an RSA key as PKCS#1 DER. Takes some tenths of a second, sometimes longer.
fn new_rsa_key() -> Result<Zeroizing<Vec<u8>>, KeyringError> {
    let mut random = SystemRandom { failed: false, fallback: 0 };
    let key = rsa::RsaPrivateKey::new(&mut random, RSA_BITS).map_err(|_| KeyringError::NoRandom)?;
    if random.failed {
        return Err(KeyringError::NoRandom);
    }
    Ok(key.to_pkcs1_der().map_err(|_| KeyringError::NoRandom)?.to_bytes())
}

/// Shared by all unit tests.
#[cfg(test)]
fn rsa_key() -> Result<Zeroizing<Vec<u8>>, KeyringError> {
    static SHARED: std::sync::OnceLock<Zeroizing<Vec<u8>>> = std::sync::OnceLock::new();
    Ok(SHARED.get_or_init(|| new_rsa_key().unwrap()).clone())
}

#[cfg(not(test))]
fn rsa_key() -> Result<Zeroizing<Vec<u8>>, KeyringError> {
    new_rsa_key()
}

fn random_key() -> Result<Zeroizing<[u8; KEY_LEN]>, KeyringError> {
    let mut key = Zeroizing::new([0; KEY_LEN]);
    ids::secret(&mut *key).map_err(|_| KeyringError::NoRandom)?;
    Ok(key)
}

fn aead(key: &[u8]) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, key).ok().map(LessSafeKey::new)
}

/// Encrypts: returns nonce, ciphertext and tag.
pub(super) fn seal(key: &LessSafeKey, with: &[u8], plain: &[u8]) -> Result<Vec<u8>, KeyringError> {
    let mut nonce = [0; NONCE_LEN];
    ids::secret(&mut nonce).map_err(|_| KeyringError::NoRandom)?;
    let mut out = Vec::with_capacity(NONCE_LEN + plain.len() + AES_256_GCM.tag_len());
    out.extend_from_slice(&nonce);
    out.extend_from_slice(plain);
    let (_, text) = out.split_at_mut(NONCE_LEN);
    let nonce = Nonce::assume_unique_for_key(nonce);
    // Fails only for texts of many gigabytes.
    let tag = key.seal_in_place_separate_tag(nonce, Aad::from(with), text).map_err(|_| KeyringError::NoRandom)?;
    out.extend_from_slice(tag.as_ref());
    Ok(out)
}

/// Decrypts the output of [`seal`].
pub(super) fn open(key: &LessSafeKey, with: &[u8], data: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (nonce, sealed) = data.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut plain = Zeroizing::new(sealed.to_vec());
    let length = key.open_in_place(nonce, Aad::from(with), &mut plain).ok()?.len();
    plain.truncate(length);
    Some(plain)
}

/// Generates a wrapped root key with the metadata `meta`, whose algorithm is set. Do not call this on a thread that
/// serves requests: the search for primes is slow.
///
/// # Errors
/// The system provides no random numbers.
pub(crate) fn generate(meta: RootKey) -> Result<WrappedRootKey, KeyringError> {
    let (kek, data_key, rsa_key) = (random_key()?, random_key()?, rsa_key()?);
    let wrapping = aead(&*kek).ok_or(KeyringError::NoRandom)?;
    let wrap = |part: &[u8]| seal(&wrapping, meta.key_id.as_bytes(), part).map(SecretBytes::from);
    let (data_key, rsa_key) = (wrap(&*data_key)?, wrap(&rsa_key)?);
    let meta = RootKey { algorithm: ALGORITHM.into(), ..meta };
    Ok(WrappedRootKey { meta, data_key, rsa_key, kek: kek.to_vec().into() })
}

/// Unwraps a root key.
pub(super) fn unwrap(wrapped: &WrappedRootKey) -> Result<Key, KeyringError> {
    let id = &wrapped.meta.key_id;
    let failed = || KeyringError::Undecryptable(id.clone());
    let wrapping = aead(wrapped.kek.expose()).ok_or_else(failed)?;
    let part = |data: &SecretBytes| open(&wrapping, id.as_bytes(), data.expose()).ok_or_else(failed);
    let data = aead(&part(&wrapped.data_key)?).ok_or_else(failed)?;
    let rsa = match wrapped.rsa_key.is_empty() {
        true => None,
        false => Some(KeyPair::from_der(&part(&wrapped.rsa_key)?).map_err(|_| failed())?),
    };
    Ok(Key { id: id.as_str().into(), data, rsa })
}
