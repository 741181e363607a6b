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
use tokio::sync::watch;

use super::calls::Vouch;
use super::pool::Pool;
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
