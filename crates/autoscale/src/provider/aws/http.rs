//! The HTTP client of the SDK: rustls with ring, and no response longer than [`limits::ANSWER`].

use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use http_body_util::Limited;

use crate::provider::limits;

/// The client: its connections serve every region.
pub fn client() -> SharedHttpClient {
    let tls = Provider::Rustls(CryptoMode::Ring);
    // The library panics if it is to trust the authorities of a machine that has none.
    let authorities = TrustStore::empty().with_native_roots(encamp_tls::has_system_authorities());
    let trust = TlsContext::builder().with_trust_store(authorities).build().unwrap_or_default();
    let builder = aws_smithy_http_client::Builder::new().tls_provider(tls).tls_context(trust);
    SharedHttpClient::new(Bounded(builder.build_https()))
}

/// A client with bounded answers.
#[derive(Debug)]
struct Bounded(SharedHttpClient);

impl HttpClient for Bounded {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(BoundedConnector(self.0.http_connector(settings, components)))
    }
}

#[derive(Debug)]
struct BoundedConnector(SharedHttpConnector);

impl HttpConnector for BoundedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let answer = self.0.call(request);
        HttpConnectorFuture::new(async move {
            let answer = answer.await?;
            Ok(answer.map(|body| SdkBody::from_body_1_x(Limited::new(body, limits::ANSWER))))
        })
    }
}
