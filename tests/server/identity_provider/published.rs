//! `oidc-provider-mock` of PyPI, which is built on Authlib.

use std::path::Path;

use encamp_test_support::notes;
use encamp_test_support::python::{self, Server};

/// Starts a provider with one user. `None` where Python or the network is missing; with `CI` that is a failure.
pub(crate) fn published_provider(user: &serde_json::Value) -> Option<Server> {
    let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server/identity_provider/requirements.txt");
    match python::environment(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("oidc-provider-mock"), &requirements) {
        Ok(python) => Some(Server::start(&python, "oidc_provider_mock", &["--user-claims", &user.to_string()])),
        Err(why) => {
            notes::missing("no oidc-provider-mock", &why);
            None
        }
    }
}
