//! Logins with identities of other systems (`docs/spec/http-api.md §7.9`), without requests and state: the time is a
//! parameter.
//!
//! [`token`] checks JSON Web Tokens. [`provider`] asks identity providers for their keys, by [`fetch`]; [`keys`] reads
//! them. [`oidc`] is the login of a user with a browser, [`assertion`] proves to a provider who the server is, and
//! [`pending`] remembers logins between their two requests.

pub(crate) mod assertion;
pub(crate) mod fetch;
pub(crate) mod keys;
pub(crate) mod oidc;
pub(crate) mod pending;
pub(crate) mod provider;
pub(crate) mod token;

use parking_lot::Mutex;
use pending::PendingLogins;
use provider::Providers;

/// What an agent keeps for logins: the keys of providers, and logins of users that have begun.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    pub(crate) providers: Providers,
    pub(crate) pending: Mutex<PendingLogins>,
}
