//! Checks of the settings of an auth method that need more than the method itself says.

use crate::error::Error;
use crate::identity_providers::assertion;
use crate::identity_providers::fetch::{certificates, parse_url};
use crate::identity_providers::keys::is_supported;
use encamp_model::AclAuthMethod;

/// Checks addresses, certificates, algorithms and the client assertion of a method.
///
/// # Errors
/// 400: the first that is wrong.
pub(in crate::api::acl) fn check_config(method: &AclAuthMethod) -> Result<(), Error> {
    let Some(config) = &method.config else { return Ok(()) };
    for (name, url) in [("JWKSURL", &config.jwks_url), ("OIDCDiscoveryURL", &config.oidc_discovery_url)] {
        if !url.is_empty() {
            parse_url(url).map_err(|e| Error::bad(format!("invalid {name}: {e}")))?;
        }
    }
    let jwks = Some(&config.jwks_ca_cert).filter(|pem| !pem.is_empty());
    let all = jwks.map(|pem| ("JWKSCACert", pem)).into_iter();
    for (name, pem) in all.chain(config.discovery_ca_pem.iter().map(|pem| ("DiscoveryCaPem", pem))) {
        certificates(pem).map_err(|_| Error::bad(format!("{name} has no certificate in PEM format")))?;
    }
    if let Some(wrong) = config.signing_algs.iter().find(|a| !is_supported(a)) {
        let known = "RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 and EdDSA";
        return Err(Error::bad(format!("SigningAlgs contains {wrong:?}, which is none of {known}")));
    }
    if let Some(given) = &config.oidc_client_assertion {
        assertion::check(config, given).map_err(|e| Error::bad(format!("invalid OIDCClientAssertion: {e}")))?;
    }
    Ok(())
}
