//! The workload identity tokens that an allocation has.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::Shared;
use crate::clock;
use crate::policy::identity;
use encamp_model::{IdentityRequest, SecretString, SignedIdentity};

/// The tokens of an allocation. Secrets.
pub(super) struct Identities {
    pub(super) tokens: Mutex<BTreeMap<IdentityRequest, Token>>,
    /// All that are wanted are there.
    pub(super) complete: watch::Sender<bool>,
}

/// A token, and when it is renewed.
pub(super) struct Token {
    pub signed: SignedIdentity,
    /// None: it stays.
    pub renew_at: Option<i64>,
}

impl Identities {
    /// With the tokens of an earlier run.
    pub(super) fn new(shared: &Shared, stored: Vec<SignedIdentity>) -> Identities {
        let now = clock::now();
        let valid = stored.into_iter().filter(|s| s.expires == 0 || s.expires > now);
        let renew_at = |s: &SignedIdentity| shared.draw(|r| identity::renew_at(now, s.expires, r));
        let token = |s: SignedIdentity| (s.request.clone(), Token { renew_at: renew_at(&s), signed: s });
        Identities { tokens: Mutex::new(valid.map(token).collect()), complete: watch::channel(false).0 }
    }

    /// All tokens, to be remembered.
    pub(super) fn record(&self) -> Vec<SignedIdentity> {
        self.tokens.lock().values().map(|t| t.signed.clone()).collect()
    }

    pub(super) fn jwt(&self, request: &IdentityRequest) -> Option<SecretString> {
        self.tokens.lock().get(request).map(|t| t.signed.jwt.clone())
    }
}
