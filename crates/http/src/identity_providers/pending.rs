//! Logins that have begun: between the address that a user is sent to, and the code that the user comes back with.

use std::collections::{HashMap, VecDeque};

use encamp_model::{MINUTE, SecretString};

/// How long a user may take with the provider, in nanoseconds.
const TIME: i64 = 10 * MINUTE;
/// The most logins that are remembered. The oldest is forgotten for a new one.
const MOST: usize = 8192;

/// A login that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingLogin {
    /// The name of the auth method.
    pub method: String,
    /// The version of the auth method: its `ModifyIndex`.
    pub version: u64,
    /// Where the provider sends the user back to.
    pub redirect_uri: String,
    /// The secret of the program that began the login, which is the nonce of the ID token as well.
    pub client_nonce: SecretString,
    /// The secret that proves to the provider who asked for the code (PKCE).
    pub verifier: SecretString,
}

/// All logins that have begun, by their states.
#[derive(Debug, Default)]
pub(crate) struct PendingLogins {
    by_state: HashMap<String, (PendingLogin, i64)>,
    /// States with their ends, the oldest first. Those of logins that have ended may still be here.
    order: VecDeque<(String, i64)>,
}

impl PendingLogins {
    /// Remembers a login. `now` in Unix nanoseconds.
    pub(crate) fn add(&mut self, state: String, login: PendingLogin, now: i64) {
        while let Some((oldest, until)) = self.order.front()
            && (*until <= now || self.order.len() >= MOST)
        {
            self.by_state.remove(oldest);
            self.order.pop_front();
        }
        let until = now.saturating_add(TIME);
        self.order.push_back((state.clone(), until));
        self.by_state.insert(state, (login, until));
    }

    /// The login of a state, once.
    pub(crate) fn take(&mut self, state: &str, now: i64) -> Option<PendingLogin> {
        let (login, until) = self.by_state.remove(state)?;
        (now < until).then_some(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(n: usize) -> PendingLogin {
        PendingLogin {
            method: format!("m{n}"),
            version: 1,
            redirect_uri: String::new(),
            client_nonce: "nonce".into(),
            verifier: "verifier".into(),
        }
    }

    #[test]
    fn a_state_works_once_and_soon() {
        let mut pending = PendingLogins::default();
        pending.add("a".into(), login(1), 0);
        pending.add("b".into(), login(2), 5);
        assert_eq!(pending.take("c", 5), None);
        assert_eq!(pending.take("a", 5), Some(login(1)));
        assert_eq!(pending.take("a", 5), None, "a second time");
        assert_eq!(pending.take("b", TIME + 5), None, "too late");
        assert!(pending.by_state.is_empty());
    }

    #[test]
    fn the_number_of_logins_is_bounded() {
        let mut pending = PendingLogins::default();
        for n in 0..3 * MOST {
            pending.add(n.to_string(), login(n), 0);
            if n.is_multiple_of(2) {
                assert!(pending.take(&n.to_string(), 0).is_some());
            }
        }
        assert!(pending.order.len() <= MOST && pending.by_state.len() <= MOST);
        assert!(pending.take("1", 0).is_none(), "the oldest is forgotten");
        assert!(pending.take(&(3 * MOST - 1).to_string(), 0).is_some());
        pending.add("late".into(), login(0), TIME);
        assert_eq!((pending.order.len(), pending.by_state.len()), (1, 1), "the expired ones are gone");
    }
}
