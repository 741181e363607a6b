//! Keys and signatures in the format of minisign (ed25519 over a BLAKE2b hash), so that users verify them with that
//! program. Secret keys with a password are not supported: the pipeline that signs keeps the key.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blake2::digest::consts::U32;
use blake2::{Blake2b, Blake2b512, Digest};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::failure::{Failure, Outcome, write};

/// The algorithm of keys.
const KEY: [u8; 2] = *b"Ed";
/// The algorithm of signatures: ed25519 over a hash.
const HASHED: [u8; 2] = *b"ED";
/// The algorithm of the checksum of a secret key.
const CHECKSUM: [u8; 2] = *b"B2";
/// The bytes of a secret key between its algorithms and the number of the key: salt and limits of the password.
const PASSWORD_LENGTH: usize = 48;

/// A key that signs. Its bytes are never printed.
pub(crate) struct SecretKey {
    number: [u8; 8],
    pair: Ed25519KeyPair,
}

/// A key that verifies.
#[derive(Debug)]
pub(crate) struct PublicKey {
    number: [u8; 8],
    key: [u8; 32],
}

/// Writes a new key and its public key.
///
/// # Errors
/// The file exists, or cannot be written.
pub(crate) fn write_new_key(file: &Path) -> Outcome<()> {
    let random = SystemRandom::new();
    let (mut seed, mut number) = ([0; 32], [0; 8]);
    random.fill(&mut seed).map_err(|_| Failure::Form("the system has no random numbers".into()))?;
    random.fill(&mut number).map_err(|_| Failure::Form("the system has no random numbers".into()))?;
    let (secret, public) = key_files(&seed, number)?;
    let mut options = OpenOptions::new();
    let mut out = options.write(true).create_new(true).mode(0o600).open(file).map_err(|e| Failure::file(file, e))?;
    out.write_all(secret.as_bytes()).map_err(|e| Failure::file(file, e))?;
    let mut name = file.as_os_str().to_owned();
    name.push(".pub");
    write(Path::new(&name), public.as_bytes())
}

/// The files of a secret key and its public key.
fn key_files(seed: &[u8; 32], number: [u8; 8]) -> Outcome<(String, String)> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| Failure::Form("the seed is no key".into()))?;
    let public = pair.public_key().as_ref().to_vec();
    let sum = Blake2b::<U32>::digest([&KEY[..], &number, seed, &public].concat());
    let secret = [&KEY[..], &[0, 0], &CHECKSUM, &[0; PASSWORD_LENGTH], &number, seed, &public, &sum].concat();
    let shown = [&KEY[..], &number, &public].concat();
    Ok((
        format!("untrusted comment: secret key of encamp releases\n{}\n", STANDARD.encode(secret)),
        format!("untrusted comment: public key of encamp releases\n{}\n", STANDARD.encode(shown)),
    ))
}

impl SecretKey {
    /// Reads the file of a key.
    ///
    /// # Errors
    /// It is no key, has a password, or is damaged.
    pub(crate) fn parse(text: &str) -> Outcome<SecretKey> {
        let wrong = |why: &str| Failure::Form(format!("the secret key {why}"));
        let bytes = second_line(text).ok_or_else(|| wrong("is not in the format of minisign"))?;
        let (head, rest) = bytes.split_at_checked(6 + PASSWORD_LENGTH).ok_or_else(|| wrong("is too short"))?;
        if !head.starts_with(&KEY) {
            return Err(wrong("is not in the format of minisign"));
        }
        if head.get(2..4) != Some(&[0, 0]) {
            return Err(wrong("has a password; make one without: cargo xtask release keygen, or minisign -G -W"));
        }
        let (Some(number), Some(seed), Some(public), Some(sum)) =
            (array::<8>(rest, 0), array::<32>(rest, 8), array::<32>(rest, 40), array::<32>(rest, 72))
        else {
            return Err(wrong("is too short"));
        };
        if Blake2b::<U32>::digest([&KEY[..], &number, &seed, &public].concat()).as_slice() != sum {
            return Err(wrong("is damaged"));
        }
        let pair = Ed25519KeyPair::from_seed_and_public_key(&seed, &public).map_err(|_| wrong("is damaged"))?;
        Ok(SecretKey { number, pair })
    }

    /// The file of the signature of bytes. The trusted comment, one line, is signed as well.
    ///
    /// # Errors
    /// The comment has several lines.
    pub(crate) fn sign(&self, bytes: &[u8], trusted_comment: &str) -> Outcome<String> {
        if trusted_comment.contains('\n') {
            return Err(Failure::Form("the comment of a signature has several lines".into()));
        }
        let signature = self.pair.sign(&Blake2b512::digest(bytes));
        let all = self.pair.sign(&[signature.as_ref(), trusted_comment.as_bytes()].concat());
        let shown = STANDARD.encode([&HASHED[..], &self.number, signature.as_ref()].concat());
        let all = STANDARD.encode(all.as_ref());
        Ok(format!(
            "untrusted comment: signature of an encamp release\n{shown}\ntrusted comment: {trusted_comment}\n{all}\n"
        ))
    }
}

impl PublicKey {
    /// Reads the file of a public key, or the key alone.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(text: &str) -> Outcome<PublicKey> {
        let bytes = second_line(text).or_else(|| STANDARD.decode(text.trim()).ok()).unwrap_or_default();
        match (array::<2>(&bytes, 0), array::<8>(&bytes, 2), array::<32>(&bytes, 10)) {
            (Some(KEY), Some(number), Some(key)) => Ok(PublicKey { number, key }),
            _ => Err(Failure::Form("the public key is not in the format of minisign".into())),
        }
    }

    /// Verifies the signature of bytes.
    ///
    /// # Errors
    /// It is no signature of these bytes by this key.
    pub(crate) fn verify(&self, bytes: &[u8], signature: &str) -> Outcome<()> {
        let refused = |why: &str| Failure::Refused(format!("the signature {why}"));
        let mut lines = signature.lines().skip(1);
        let decode = |line: Option<&str>| line.and_then(|l| STANDARD.decode(l.trim()).ok()).unwrap_or_default();
        let first = decode(lines.next());
        let comment = lines.next().and_then(|l| l.strip_prefix("trusted comment: "));
        let comment = comment.ok_or_else(|| refused("has no trusted comment"))?;
        let all = decode(lines.next());
        let (Some(HASHED), Some(number), Some(own)) =
            (array::<2>(&first, 0), array::<8>(&first, 2), array::<64>(&first, 10))
        else {
            return Err(refused("is not in the format of minisign"));
        };
        if number != self.number {
            return Err(refused("is of another key"));
        }
        let key = UnparsedPublicKey::new(&ED25519, self.key);
        key.verify(&Blake2b512::digest(bytes), &own).map_err(|_| refused("is not of these sums"))?;
        key.verify(&[&own[..], comment.as_bytes()].concat(), &all).map_err(|_| refused("has a changed comment"))
    }
}

/// The bytes of the second line; the first is a comment.
fn second_line(text: &str) -> Option<Vec<u8>> {
    let (_, rest) = text.split_once('\n')?;
    STANDARD.decode(rest.lines().next()?.trim()).ok()
}

/// So many bytes from a position on.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> (SecretKey, PublicKey) {
        let (secret, public) = key_files(&[7; 32], *b"abcdefgh").unwrap();
        (SecretKey::parse(&secret).unwrap(), PublicKey::parse(&public).unwrap())
    }

    #[test]
    fn signatures_are_verified() {
        let (secret, public) = keys();
        let signature = secret.sign(b"sums", "release 1").unwrap();
        public.verify(b"sums", &signature).unwrap();
        for (bytes, signature) in [
            (&b"sumz"[..], signature.clone()),
            (b"sums", signature.replace("release 1", "release 2")),
            (b"sums", signature.replace("trusted comment: release 1\n", "")),
            (b"sums", String::new()),
        ] {
            assert!(matches!(public.verify(bytes, &signature), Err(Failure::Refused(_))), "{signature}");
        }
    }

    #[test]
    fn signatures_of_other_keys_are_refused() {
        let (_, public) = keys();
        for (seed, number) in [([8; 32], *b"abcdefgh"), ([7; 32], *b"abcdefgi")] {
            let (secret, _) = key_files(&seed, number).unwrap();
            let signature = SecretKey::parse(&secret).unwrap().sign(b"sums", "c").unwrap();
            assert!(matches!(public.verify(b"sums", &signature), Err(Failure::Refused(_))));
        }
    }

    #[test]
    fn damaged_keys_are_refused() {
        let (secret, public) = key_files(&[7; 32], *b"abcdefgh").unwrap();
        assert!(SecretKey::parse(&public).is_err());
        let body = secret.lines().nth(1).unwrap();
        let mut bytes = STANDARD.decode(body).unwrap();
        bytes[70] ^= 1;
        assert!(SecretKey::parse(&format!("c\n{}\n", STANDARD.encode(bytes))).is_err());
    }
}
