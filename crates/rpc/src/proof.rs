//! Authenticates a server to another one.
//!
//! With certificates that name servers, the certificate is the proof. Without them, a server is identified by the
//! address that the cluster knows for it: the header of a message contains a token that only its sender can make and
//! that is valid for one receiver. The receiver asks the server at the address that gossip or the log has for the
//! sender whether it made the token, once for each token. This rejects every attacker that can't take over the address
//! of a server.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use ring::hmac;
use tokio::sync::watch;

use super::calls::{Call, calls};
use super::pool::Pool;
use super::service::{Answers, Service};
use encamp_host::ids;
use encamp_raft::ServerId;
use encamp_server::Error;

/// Longest wait for the sender to confirm.
const ANSWER: Duration = Duration::from_secs(5);
/// Texts that are asked about at the same time, of one address and of all.
const ASKED: (usize, usize) = (4, 64);
/// Texts that are remembered for each server: of its starts, the latest.
const REMEMBERED: usize = 8;
/// Servers that are remembered.
const SERVERS: usize = 1024;

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
    fn made(&self, to: ServerId, text: &str) -> bool {
        let hex = |i: usize| text.get(i..i + 2).and_then(|d| u8::from_str_radix(d, 16).ok());
        let bytes: Option<Vec<u8>> = (0..text.len()).step_by(2).map(hex).collect();
        bytes.is_some_and(|b| hmac::verify(&self.key, to.to_string().as_bytes(), &b).is_ok())
    }
}

calls! {
    /// Whether a text that came to a server is that of the server that is asked.
    Vouch = "Server.Vouch" [ANYWHERE, REPEATABLE] -> bool {
        /// The receiving server.
        id: ServerId,
        /// The calling server.
        by: ServerId,
        /// The text.
        text: String,
    }
}

impl Answers<Vouch> for Service {
    async fn carry_out(&self, call: Vouch) -> Result<bool, Error> {
        let own = self.pool().prover();
        Ok(own.is_some_and(|own| own.id() == call.id && own.made(call.by, &call.text)))
    }
}

/// A question in flight: whether the text is right, once that is known.
type Asked = watch::Receiver<Option<bool>>;

#[derive(Default)]
struct State {
    known: BTreeMap<ServerId, Vec<String>>,
    asked: HashMap<(ServerId, String), Asked>,
    by_address: HashMap<IpAddr, usize>,
}

/// The texts that were confirmed; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Confirmed(Arc<Mutex<State>>);

impl Confirmed {
    /// Whether a text is that of the server `from`, which answers at `address`. `by` is this server, `peer` where the
    /// message came from.
    ///
    /// # Errors
    /// 403: it is not. 500: nobody answers there, or too many are asked about.
    pub(crate) async fn check(
        &self,
        pool: &Pool,
        by: ServerId,
        from: ServerId,
        text: &str,
        address: String,
        peer: IpAddr,
    ) -> Result<(), Error> {
        let Some(mut answer) = self.ask(pool, by, from, text, address, peer)? else { return Ok(()) };
        let confirmed = answer.wait_for(Option::is_some).await.ok().and_then(|a| *a);
        match confirmed {
            Some(true) => Ok(()),
            Some(false) => Err(Error::denied(format!("server {from} does not confirm this call"))),
            None => Err(Error::internal(format!("server {from} does not answer at its known address"))),
        }
    }

    /// Asks in a task of its own: whoever waits may give up, and comes again. `None`: the text is known.
    fn ask(
        &self,
        pool: &Pool,
        by: ServerId,
        from: ServerId,
        text: &str,
        address: String,
        peer: IpAddr,
    ) -> Result<Option<Asked>, Error> {
        let mut state = self.0.lock();
        if state.known.get(&from).is_some_and(|known| known.iter().any(|k| k == text)) {
            return Ok(None);
        }
        let key = (from, text.to_string());
        if let Some(asked) = state.asked.get(&key) {
            return Ok(Some(asked.clone()));
        }
        let of_address = state.by_address.get(&peer).copied().unwrap_or_default();
        if of_address >= ASKED.0 || state.asked.len() >= ASKED.1 {
            return Err(Error::internal("too many servers have to be confirmed at the same time"));
        }
        *state.by_address.entry(peer).or_default() += 1;
        let (tell, asked) = watch::channel(None);
        state.asked.insert(key.clone(), asked.clone());
        let (own, pool) = (self.clone(), pool.clone());
        tokio::spawn(async move {
            let call = Vouch { id: from, by, text: key.1.clone() };
            let answer = pool.call_within(ANSWER, &address, &call).await;
            own.answered(key, peer, matches!(answer, Ok(true)));
            if let Ok(answer) = answer {
                tell.send_replace(Some(answer));
            }
        });
        Ok(Some(asked))
    }

    fn answered(&self, key: (ServerId, String), peer: IpAddr, confirmed: bool) {
        let mut state = self.0.lock();
        state.asked.remove(&key);
        if let Some(count) = state.by_address.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                state.by_address.remove(&peer);
            }
        }
        let (id, text) = key;
        if confirmed && (state.known.len() < SERVERS || state.known.contains_key(&id)) {
            let known = state.known.entry(id).or_default();
            if known.len() >= REMEMBERED {
                known.remove(0);
            }
            known.push(text);
        }
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
