//! Changes of the gossip keys on all servers of the cluster (`docs/spec/server.md §23.1`).
//!
//! The server that an operator asks calls every server that is alive. The content of calls and answers is encrypted
//! with the gossip keys themselves: only servers that have one of them can read or send it, also where the RPC port is
//! not encrypted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::calls::{Call, calls};
use super::gossip::{Cipher, Gossip, Identity, KeyRefusal, after};
use super::membership::Members;
use super::service::{Answers, Service};
use super::wire::CallError;
use encamp_http::agent::gossip_keys::{KeyCount, KeysFailure, KeysReport};
use encamp_model::{Bytes, GossipKey, KeyChange};
use encamp_ops::codec;
use encamp_raft::ServerId;
use encamp_server::Error;
use encamp_server::leadership::peers::Status;

/// Longest wait for the answer of a server.
const ANSWER: Duration = Duration::from_secs(5);
/// What keeps the content of a call from being taken for a datagram.
const CALL: u8 = 3;
/// The same for answers.
const ANSWERED: u8 = 4;

calls! {
    /// The gossip keys of a server, after a change of them if there is one.
    ChangeKeys = "Serf.Keyring" [ANYWHERE, REPEATABLE] -> Bytes {
        /// A [`Request`], encrypted with the primary key of the calling server.
        sealed: Bytes,
    }
}

/// The content of a call.
#[derive(Serialize, Deserialize)]
struct Request {
    /// The receiving server: another one does not obey.
    to: ServerId,
    change: Option<KeyChange>,
}

/// The keys of a server, the primary key first.
type Keys = Result<Vec<GossipKey>, KeyRefusal>;

/// Why the keys of a server are not known.
#[derive(Debug, thiserror::Error)]
enum KeysError {
    /// The server refuses the change.
    #[error(transparent)]
    Refused(#[from] KeyRefusal),
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The answer is not encrypted with a key that this server has, or it is no answer.
    #[error("the answer can't be decrypted: the servers have no gossip key in common")]
    Answer,
}

fn sealed<T: Serialize>(cipher: &Cipher, purpose: u8, content: &T) -> Result<Bytes, Error> {
    let sealed = cipher.seal(purpose, &codec::encode(content)?);
    sealed.map(Bytes).ok_or_else(|| Error::internal("a message can't be encrypted"))
}

impl Answers<ChangeKeys> for Service {
    async fn carry_out(&self, call: ChangeKeys) -> Result<Bytes, Error> {
        let gossip = self.gossip();
        let opened = gossip.keyring().open_sealed(CALL, &call.sealed.0);
        // A server without keys opens nothing.
        let (content, cipher) = opened.ok_or_else(|| {
            Error::denied(
                "the call is not encrypted with a gossip key of this server: install the primary key here first",
            )
        })?;
        let request: Request = codec::decode(&content).map_err(|_| Error::bad("a message can't be read"))?;
        self.is_me(request.to)?;
        let keys: Keys = own_keys(gossip, request.change).await;
        // With the key of the call, which the calling server has.
        sealed(&cipher, ANSWERED, &keys)
    }
}

/// The keys of this server, after a change of them if there is one.
async fn own_keys(gossip: &Gossip, change: Option<KeyChange>) -> Keys {
    let keyring = gossip.keyring().clone();
    let Some(change) = change else {
        let keys = keyring.keys();
        return if keys.is_empty() { Err(KeyRefusal::NotEncrypted) } else { Ok(keys) };
    };
    // Goes on when nobody waits for it any more: the file and the keys in use stay the same.
    let done = tokio::task::spawn_blocking(move || keyring.change(&change)).await;
    done.unwrap_or_else(|e| Err(KeyRefusal::NotStored(e.to_string())))
}

/// The answers of servers by their names.
type Answered = BTreeMap<String, Result<Vec<GossipKey>, KeysError>>;

/// The servers that did not carry out what they were asked.
fn failure(answered: &Answered, unchanged: bool) -> Option<KeysFailure> {
    let reason = |e: &KeysError| match e {
        KeysError::Refused(KeyRefusal::NotEncrypted) => None,
        other => Some(other.to_string()),
    };
    let reasons: BTreeMap<_, _> =
        answered.iter().filter_map(|(name, a)| Some((name.clone(), reason(a.as_ref().err()?)))).collect();
    (!reasons.is_empty()).then_some(KeysFailure { servers: answered.len(), unchanged, reasons })
}

/// What the servers would refuse.
fn foreseen(change: &KeyChange, answered: &Answered) -> Option<KeysFailure> {
    let refused = |keys: &Vec<GossipKey>| after(change, keys).err().map(|e| e.to_string());
    let reasons: BTreeMap<_, _> =
        answered.iter().filter_map(|(name, keys)| Some((name.clone(), Some(refused(keys.as_ref().ok()?)?)))).collect();
    (!reasons.is_empty()).then_some(KeysFailure { servers: answered.len(), unchanged: true, reasons })
}

/// Counts the keys of the servers.
fn counted(answered: &Answered) -> Vec<KeyCount> {
    let mut counts: Vec<KeyCount> = Vec::new();
    for keys in answered.values().flatten() {
        for (place, key) in keys.iter().enumerate() {
            let primary = usize::from(place == 0);
            match counts.iter_mut().find(|c| c.key == *key) {
                Some(count) => {
                    count.installed += 1;
                    count.primary += primary;
                }
                None => counts.push(KeyCount { key: key.clone(), installed: 1, primary }),
            }
        }
    }
    counts.sort_by_key(|c| std::cmp::Reverse((c.primary, c.installed)));
    counts
}

impl Members {
    /// Changes the keys of all servers that are alive, or only reads them. A change that one of them would refuse is
    /// not begun.
    pub(super) async fn change_gossip_keys(&self, change: Option<KeyChange>) -> Result<KeysReport, KeysFailure> {
        let servers = self.gossip().alive();
        if !self.gossip().keyring().encrypts() {
            let reasons = servers.iter().map(|s| (s.full_name(), None)).collect();
            return Err(KeysFailure { servers: servers.len(), unchanged: true, reasons });
        }
        let mut answered = self.ask_for_keys(&servers, None).await;
        let refused = failure(&answered, true).or_else(|| foreseen(change.as_ref()?, &answered));
        if let Some(refused) = refused {
            return Err(refused);
        }
        if change.is_some() {
            answered = self.ask_for_keys(&servers, change.as_ref()).await;
            if let Some(failed) = failure(&answered, false) {
                return Err(failed);
            }
        }
        let text = "the server has failed and was not asked: it can't return without the primary key";
        let gone = self.gossip().known().into_iter().filter(|s| s.status == Status::Failed);
        let messages = gone.map(|s| (s.name, text.to_string())).collect();
        Ok(KeysReport { servers: servers.len(), keys: counted(&answered), messages })
    }

    /// Asks servers at the same time, this one among them.
    async fn ask_for_keys(&self, servers: &[Identity], change: Option<&KeyChange>) -> Answered {
        let asked = servers.iter().map(|s| async { (s.full_name(), self.ask_one_for_keys(s, change.cloned()).await) });
        futures_util::future::join_all(asked).await.into_iter().collect()
    }

    async fn ask_one_for_keys(
        &self,
        server: &Identity,
        change: Option<KeyChange>,
    ) -> Result<Vec<GossipKey>, KeysError> {
        let gossip = self.gossip();
        if server.id == gossip.own().id {
            return Ok(own_keys(gossip, change).await?);
        }
        let cipher = gossip.keyring().primary().ok_or(KeyRefusal::NotEncrypted)?;
        let request = Request { to: server.id, change };
        let call = ChangeKeys { sealed: sealed(&cipher, CALL, &request).map_err(CallError::from)? };
        let answer = self.pool().call_server(ANSWER, server.id, &server.rpc, &call).await?;
        let content = cipher.open(ANSWERED, &answer.0).ok_or(KeysError::Answer)?;
        let keys: Keys = codec::decode(&content).map_err(|_| KeysError::Answer)?;
        Ok(keys?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: char) -> GossipKey {
        GossipKey::parse(&format!("{}==", byte.to_string().repeat(22))).expect("a key")
    }

    fn answers(list: &[&[char]]) -> Answered {
        let keys = |keys: &&[char]| Ok(keys.iter().map(|k| key(*k)).collect());
        list.iter().enumerate().map(|(n, k)| (format!("s{n}.global"), keys(k))).collect()
    }

    #[test]
    fn keys_are_counted_and_the_primary_one_comes_first() {
        let of =
            |list| counted(&answers(list)).iter().map(|c| (c.key.clone(), c.installed, c.primary)).collect::<Vec<_>>();
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[&['A', 'Q'], &['A', 'Q'], &['Q', 'A']]), [(key('A'), 3, 2), (key('Q'), 3, 1)]);
        assert_eq!(
            of(&[&['g'], &['Q', 'g', 'w'], &['Q', 'g']]),
            [(key('Q'), 2, 2), (key('g'), 3, 1), (key('w'), 1, 0)]
        );
    }

    #[test]
    fn refusals_are_foreseen() {
        let servers = answers(&[&['A', 'Q'], &['A'], &['Q', 'A']]);
        let names = |change| foreseen(&change, &servers).map(|f| f.reasons.into_keys().collect::<Vec<_>>());
        assert_eq!(names(KeyChange::Use(key('A'))), None);
        assert_eq!(names(KeyChange::Use(key('Q'))), Some(vec!["s1.global".into()]));
        assert_eq!(names(KeyChange::Remove(key('A'))), Some(vec!["s0.global".into(), "s1.global".into()]));
        assert_eq!(names(KeyChange::Remove(key('w'))), None, "no server has it");
        assert_eq!(names(KeyChange::Install(key('Q'))), None);
        let failed = foreseen(&KeyChange::Use(key('Q')), &servers).expect("refused");
        assert_eq!(
            failed.to_string(),
            "1/3 nodes reported failure; nothing was changed\ns1.global: the key is not installed"
        );
    }

    #[test]
    fn failures_are_those_of_the_servers() {
        let mut servers = answers(&[&['A'], &['A']]);
        assert_eq!(failure(&servers, false), None);
        servers.insert("s2.global".into(), Err(KeyRefusal::NotEncrypted.into()));
        assert_eq!(failure(&servers, true).expect("one").to_string(), "1/3 nodes reported failure");
        servers.insert("s1.global".into(), Err(CallError::Lost("no answer".into()).into()));
        let text = failure(&servers, false).expect("two").to_string();
        assert_eq!(text, "2/3 nodes reported failure\ns1.global: no answer");
    }
}
