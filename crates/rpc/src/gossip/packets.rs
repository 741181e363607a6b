//! Datagrams: the encoding of members, and encryption with the keys of the keyring.

use bytes::{Buf, BufMut};
use foca::{Codec, Header, Member};
use ring::aead::NONCE_LEN;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::keyring::Keyring;

/// Longest content of a datagram, in bytes; with what seals it, it fits into one frame of the usual networks.
pub(crate) const LONGEST: usize = 1350;
/// Longest datagram, in bytes: the content and what seals it. Greetings of servers with very long names are longer than
/// [`LONGEST`].
const LONGEST_DATAGRAM: usize = 1 + NONCE_LEN + 2 * LONGEST + 16;
/// First byte of an open datagram.
const OPEN: u8 = 1;
/// First byte of a sealed one.
const SEALED: u8 = 2;

/// First byte of a greeting's content; what the protocol of membership sends begins with a list.
const GREETING: u8 = 0;
/// Length of a question's content, and more than that of an answer with the usual names.
const GREETING_LENGTH: usize = 512;

/// Writes MessagePack.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed;

/// An encoding or decoding error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PackedError(String);

fn put<T: Serialize>(value: &T, mut buf: impl BufMut) -> Result<(), PackedError> {
    let bytes = rmp_serde::to_vec(value).map_err(|e| PackedError(e.to_string()))?;
    if buf.remaining_mut() < bytes.len() {
        return Err(PackedError("there is no room".into()));
    }
    buf.put_slice(&bytes);
    Ok(())
}

fn get<T: DeserializeOwned>(buf: impl Buf) -> Result<T, PackedError> {
    rmp_serde::from_read(buf.reader()).map_err(|e| PackedError(e.to_string()))
}

impl Codec<Identity> for Packed {
    type Error = PackedError;

    fn encode_header(&mut self, header: &Header<Identity>, buf: impl BufMut) -> Result<(), PackedError> {
        put(header, buf)
    }

    fn decode_header(&mut self, buf: impl Buf) -> Result<Header<Identity>, PackedError> {
        get(buf)
    }

    fn encode_member(&mut self, member: &Member<Identity>, buf: impl BufMut) -> Result<(), PackedError> {
        put(member, buf)
    }

    fn decode_member(&mut self, buf: impl Buf) -> Result<Member<Identity>, PackedError> {
        get(buf)
    }
}

/// Messages beside the membership protocol. A server may be reached at addresses that it does not advertise, but the
/// protocol knows it by its advertised address only: a joining server asks for that first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Greeting {
    /// Asks which server is there; the answer repeats the number.
    Ask(u64),
    /// Names the answering server.
    Answer(u64, Identity),
}

impl Greeting {
    /// The content of a datagram. Questions are as long as answers, so that a forged sender address cannot
    /// amplify traffic.
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![GREETING];
        bytes.extend(rmp_serde::to_vec(self).ok()?);
        if matches!(self, Greeting::Ask(_)) {
            bytes.resize(bytes.len().max(GREETING_LENGTH), 0);
        }
        Some(bytes)
    }

    /// The greeting in the content of a datagram, if it is one.
    pub(crate) fn read(content: &[u8]) -> Option<Greeting> {
        let (_, rest) = content.split_first().filter(|(first, _)| **first == GREETING)?;
        let greeting: Greeting = get(rest).ok()?;
        let short = matches!(greeting, Greeting::Ask(_)) && content.len() < GREETING_LENGTH;
        (!short).then_some(greeting)
    }
}

/// Closes and opens datagrams. With keys, open ones are refused.
pub(crate) struct Envelope(Keyring);

impl Envelope {
    /// With the keys of a keyring, which may change.
    pub(crate) fn new(keyring: Keyring) -> Envelope {
        Envelope(keyring)
    }

    /// The datagram; none if it could not be sealed.
    pub(crate) fn close(&self, content: &[u8]) -> Option<Vec<u8>> {
        let Some(key) = self.0.primary() else {
            return Some([&[OPEN], content].concat());
        };
        Some([&[SEALED], key.seal(SEALED, content)?.as_slice()].concat())
    }

    /// The content of a datagram; none if it is not of this cluster.
    pub(crate) fn open(&self, datagram: &[u8]) -> Option<Vec<u8>> {
        // Every key is tried, so what no server sends is not tried at all.
        if datagram.len() > LONGEST_DATAGRAM {
            return None;
        }
        match (self.0.encrypts(), datagram.split_first()?) {
            (false, (&OPEN, content)) => Some(content.to_vec()),
            (true, (&SEALED, sealed)) => self.0.open_sealed(SEALED, sealed).map(|(content, _)| content),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use encamp_model::{GossipKey, KeyChange};

    #[test]
    fn questions_are_no_shorter_than_answers() {
        let own =
            Identity { name: "a".repeat(64), region: "global".into(), ..Identity::at(([10, 0, 0, 1], 4648).into()) };
        let (ask, answer) = (Greeting::Ask(u64::MAX), Greeting::Answer(u64::MAX, own.clone()));
        let contents = [&ask, &answer].map(|g| g.content().expect("written"));
        assert!(contents[0].len() >= contents[1].len() && contents[0].len() <= LONGEST);
        assert_eq!(contents.each_ref().map(|c| Greeting::read(c)), [Some(ask), Some(answer)]);
        assert_eq!(Greeting::read(&contents[0][..100]), None, "a short question");
        let mut header = Vec::new();
        put(&foca::Member::alive(own), &mut header).expect("written");
        assert_eq!([Greeting::read(&header), Greeting::read(&[]), Greeting::read(&[0])], [None, None, None]);
    }

    fn key(byte: u8) -> GossipKey {
        GossipKey::parse(&STANDARD.encode([byte; 32])).expect("a key")
    }

    fn ring(key: Option<GossipKey>) -> (Keyring, Envelope) {
        let keyring = Keyring::in_memory(key).expect("a keyring");
        (keyring.clone(), Envelope::new(keyring))
    }

    #[test]
    fn only_the_right_key_opens() {
        let [plain, one, other] = [None, Some(key(1)), Some(key(2))].map(|k| ring(k).1);
        for (from, to, opens) in [
            (&plain, &plain, true),
            (&one, &one, true),
            (&one, &other, false),
            (&one, &plain, false),
            (&plain, &one, false),
        ] {
            let datagram = from.close(b"hello").expect("closed");
            assert_eq!(to.open(&datagram).as_deref(), opens.then_some(b"hello".as_slice()));
        }
        let mut changed = one.close(b"hello").expect("closed");
        assert!(!changed.windows(5).any(|w| w == b"hello"));
        let last = changed.len() - 1;
        changed[last] ^= 1;
        assert_eq!(one.open(&changed), None);
        for length in (0..20).chain([LONGEST_DATAGRAM, 64 << 10]) {
            assert_eq!(one.open(&vec![SEALED; length]), None);
        }
        assert_eq!((plain.open(&[]), plain.open(&vec![OPEN; LONGEST_DATAGRAM + 1])), (None, None));
        let longest = one.close(&[7; 2 * LONGEST]).expect("closed");
        assert!(longest.len() == LONGEST_DATAGRAM && one.open(&longest).is_some());
    }

    #[test]
    fn the_primary_key_seals_and_every_key_opens() {
        let (keys, changing) = ring(Some(key(1)));
        let [first, second] = [1, 2].map(|n| ring(Some(key(n))).1);
        let hears = |from: &Envelope, to: &Envelope| to.open(&from.close(b"hello").expect("closed")).is_some();
        let all = || {
            [hears(&changing, &first), hears(&first, &changing), hears(&changing, &second), hears(&second, &changing)]
        };
        assert_eq!(all(), [true, true, false, false]);
        keys.change(&KeyChange::Install(key(2))).expect("installed");
        assert_eq!(all(), [true, true, false, true]);
        keys.change(&KeyChange::Use(key(2))).expect("used");
        assert_eq!(all(), [false, true, true, true]);
        keys.change(&KeyChange::Remove(key(1))).expect("removed");
        assert_eq!(all(), [false, false, true, true]);
    }

    #[test]
    fn members_fit_and_come_back() {
        let identity = Identity {
            name: "n".repeat(60),
            rpc: "10.0.0.1:4647".into(),
            ..Identity::at(([10, 0, 0, 1], 4648).into())
        };
        let member = Member::alive(identity);
        let mut buf = Vec::new();
        Packed.encode_member(&member, &mut buf).expect("written");
        assert!(buf.len() < 200, "{}", buf.len());
        assert_eq!(Packed.decode_member(buf.as_slice()).expect("read"), member);
        assert!(Packed.encode_member(&member, [0u8; 10].as_mut_slice()).is_err());
        assert!(Packed.decode_header(&b"\xff\xff\xff"[..]).is_err());
    }
}
