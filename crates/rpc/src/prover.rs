//! The text with which a server proves to another one that it calls; [`super::proof`] says what that is worth.

use ring::hmac;

use encamp_host::ids;
use encamp_raft::ServerId;

/// The key with which a server proves its identity, generated at every start.
pub struct Prover {
    id: ServerId,
    key: hmac::Key,
}

impl Prover {
    /// For a server. `None`: the system has no randomness.
    pub fn new(id: ServerId) -> Option<Prover> {
        let mut secret = [0u8; 32];
        ids::secret(&mut secret).ok()?;
        Some(Prover { id, key: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
    }

    /// The server.
    pub fn id(&self) -> ServerId {
        self.id
    }

    /// The text for another server.
    pub(crate) fn text_for(&self, to: ServerId) -> String {
        let tag = hmac::sign(&self.key, to.to_string().as_bytes());
        tag.as_ref().iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Whether a text was made for that server.
    pub(crate) fn made(&self, to: ServerId, text: &str) -> bool {
        let hex = |i: usize| text.get(i..i + 2).and_then(|d| u8::from_str_radix(d, 16).ok());
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(hex).collect();
        bytes.is_some_and(|b| hmac::verify(&self.key, to.to_string().as_bytes(), &b).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_good_for_one_receiver_and_one_start() {
        let id = |n: u8| -> ServerId { format!("00000000-0000-0000-0000-0000000000{n:02}").parse().expect("an ID") };
        let one = Prover::new(id(1)).expect("randomness");
        let again = Prover::new(id(1)).expect("randomness");
        let text = one.text_for(id(2));
        assert!(one.made(id(2), &text));
        assert!(!one.made(id(3), &text) && !again.made(id(2), &text));
        for wrong in ["", "0", "zz", "é", &text[2..], &format!("{text}00")] {
            assert!(!one.made(id(2), wrong), "{wrong}");
        }
    }
}
