//! Keys that encrypt gossip between servers (`docs/spec/agent-config.md §5`, `server.encrypt`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::secret::{SecretBytes, SecretString};

/// Lengths of keys, in bytes.
const LENGTHS: [usize; 3] = [16, 24, 32];

/// A key that encrypts gossip: base64 of 16, 24 or 32 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SecretString")]
pub struct GossipKey(SecretString);

/// A gossip key that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGossipKey {
    /// The text is not base64.
    #[error("it is not base64")]
    Encoding,
    /// No cipher has keys of this length in bytes.
    #[error("it has {0} bytes, not 16, 24 or 32")]
    Length(usize),
}

/// A change of the keys of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyChange {
    /// Adds a key that decrypts. A key that is there already stays where it is.
    Install(GossipKey),
    /// Makes an installed key the one that encrypts.
    Use(GossipKey),
    /// Removes a key. A key that is not there is removed already.
    Remove(GossipKey),
}

impl KeyChange {
    /// The name of the change in paths and log messages.
    pub fn name(&self) -> &'static str {
        match self {
            KeyChange::Install(_) => "install",
            KeyChange::Use(_) => "use",
            KeyChange::Remove(_) => "remove",
        }
    }
}

impl GossipKey {
    /// Reads the text of a key.
    ///
    /// # Errors
    /// See [`InvalidGossipKey`].
    pub fn parse(text: &str) -> Result<GossipKey, InvalidGossipKey> {
        GossipKey::try_from(SecretString::from(text))
    }

    /// The bytes of the key.
    pub fn bytes(&self) -> SecretBytes {
        // The text was decoded once.
        STANDARD.decode(self.expose()).unwrap_or_default().into()
    }

    /// The text of the key: base64 in the standard alphabet, with padding.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

impl TryFrom<SecretString> for GossipKey {
    type Error = InvalidGossipKey;

    fn try_from(text: SecretString) -> Result<GossipKey, InvalidGossipKey> {
        let mut bytes = STANDARD.decode(text.expose()).map_err(|_| InvalidGossipKey::Encoding)?;
        let length = bytes.len();
        zeroize::Zeroize::zeroize(&mut bytes);
        if LENGTHS.contains(&length) { Ok(GossipKey(text)) } else { Err(InvalidGossipKey::Length(length)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_secrets;

    #[test]
    fn keys_have_one_of_three_lengths() {
        for (text, want) in [
            (STANDARD.encode([1; 16]), Ok(())),
            (STANDARD.encode([2; 24]), Ok(())),
            (STANDARD.encode([255; 32]), Ok(())),
            (STANDARD.encode([1; 15]), Err(InvalidGossipKey::Length(15))),
            (STANDARD.encode([1; 64]), Err(InvalidGossipKey::Length(64))),
            (String::new(), Err(InvalidGossipKey::Length(0))),
            ("not base64".into(), Err(InvalidGossipKey::Encoding)),
            (STANDARD.encode([1; 16]).replace('=', ""), Err(InvalidGossipKey::Encoding)),
            (format!("{}\n", STANDARD.encode([1; 16])), Err(InvalidGossipKey::Encoding)),
        ] {
            assert_eq!(GossipKey::parse(&text).map(|key| assert_eq!(key.expose(), text)), want, "{text}");
        }
    }

    #[test]
    fn keys_are_hidden() {
        let text = STANDARD.encode([7; 32]);
        let key = GossipKey::parse(&text).expect("a key");
        assert!(!format!("{key:?}").contains(&text));
        assert!(serde_json::to_string(&key).is_err(), "a key is not written by accident");
        let json = with_secrets(|| serde_json::to_string(&key)).expect("written");
        assert_eq!(serde_json::from_str::<GossipKey>(&json).expect("read"), key);
        let wrong = serde_json::from_str::<GossipKey>("\"c2VjcmV0\"").expect_err("too short");
        assert!(wrong.to_string().contains("6 bytes") && !wrong.to_string().contains("c2Vj"), "{wrong}");
    }
}
