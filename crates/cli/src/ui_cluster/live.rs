//! A running cluster behind an interface: requests go through the API client, so that its TLS settings, region and retries
//! hold, with the token of the command unless the person signs in.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode, Uri, header};
use encamp_api::stream::{ByteStream, RawRequest};
use encamp_api::{ApiError, Client, Config, Query};
use encamp_model::SecretString;
use encamp_ui::command::{Commands, Invocation};
use encamp_ui::{Cluster, CommandOutput, NoCommand, Source, Unreachable};
use futures_util::future::BoxFuture;
use futures_util::stream;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

/// The longest body of a request, in bytes.
const MAX_BODY: usize = 32 << 20;
/// Headers of a connection, not of a request; and cookies, which are for the pages.
const OWN_HEADERS: [header::HeaderName; 7] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::ACCEPT_ENCODING,
    header::UPGRADE,
    header::COOKIE,
];
/// The header that accepts a WebSocket.
const ACCEPTED: &str = "sec-websocket-accept";

/// A running cluster.
pub(super) struct Live {
    client: Client,
    source: Source,
    commands: Commands,
    environment: Vec<(&'static str, OsString)>,
    directory: PathBuf,
}

impl Live {
    /// The cluster of a client. `environment`: what commands have besides the variables of the connection.
    pub(super) fn new(
        client: Client,
        commands: Commands,
        mut environment: Vec<(&'static str, OsString)>,
        directory: PathBuf,
    ) -> Live {
        environment.extend(connection(client.config()));
        let source = Source::Address(client.address().to_string());
        Live { client, source, commands, environment, directory }
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, Unreachable> {
        let (mut parts, body) = request.into_parts();
        let (path, query) = (parts.uri.path().to_string(), query_of(&parts.uri));
        let headers = passed(&parts.headers);
        if parts.headers.contains_key(header::UPGRADE)
            && let Some(browser) = parts.extensions.remove::<OnUpgrade>()
        {
            return self.websocket(&path, &query, headers, browser).await;
        }
        let body = to_bytes(body, MAX_BODY).await.map_err(|e| Unreachable(e.to_string()))?;
        let body = (!body.is_empty()).then(|| body.to_vec());
        let raw = RawRequest { method: parts.method.to_string(), path, query, headers, body };
        let answer = self.client.send(&raw, true).await.map_err(|e| Unreachable(e.to_string()))?;
        Ok(streamed(answer))
    }

    /// Connects a WebSocket of the browser with one of the cluster; the messages stay as they are.
    async fn websocket(
        &self,
        path: &str,
        query: &Query,
        headers: Vec<(String, String)>,
        browser: OnUpgrade,
    ) -> Result<Response<Body>, Unreachable> {
        let switch = [("connection", "Upgrade"), ("upgrade", "websocket")];
        let given = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<(&str, &str)> = switch.into_iter().chain(given).collect();
        let (mut cluster, accepted) = match self.client.upgrade(path, query, &headers, ACCEPTED).await {
            Ok(upgraded) => upgraded,
            Err(ApiError::Status { status, body }) => return Ok(refused(status, body)),
            Err(e) => return Err(Unreachable(e.to_string())),
        };
        tokio::spawn(async move {
            // Either side ends the session.
            if let Ok(browser) = browser.await {
                let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(browser), &mut cluster).await;
            }
        });
        let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        let response = response.header(header::CONNECTION, "Upgrade").header(header::UPGRADE, "websocket");
        response.header(ACCEPTED, accepted).body(Body::empty()).map_err(|e| Unreachable(e.to_string()))
    }
}

/// An answer of the cluster as it comes.
fn streamed(answer: ByteStream) -> Response<Body> {
    let (status, headers) = (answer.status(), answer.headers().clone());
    let pieces = stream::unfold(answer, |mut answer| async move { Some((answer.next().await.transpose()?, answer)) });
    let mut response = Response::new(Body::from_stream(pieces));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    let kept = headers.iter().filter(|(name, _)| !OWN_HEADERS.contains(name));
    response.headers_mut().extend(kept.map(|(name, value)| (name.clone(), value.clone())));
    response
}

/// An answer with an error.
fn refused(status: u16, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    response
}

/// The parameters of a request. The client adds its own region and namespace where the request names none.
fn query_of(uri: &Uri) -> Query {
    let mut query = Query::default();
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned() {
        if name == "namespace" {
            query.namespace = Some(value);
        } else {
            query.parameters.push((Cow::Owned(name), value));
        }
    }
    query
}

/// The headers that the cluster gets as well.
fn passed(headers: &HeaderMap) -> Vec<(String, String)> {
    let kept = headers.iter().filter(|(name, _)| !OWN_HEADERS.contains(name));
    kept.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_string()))).collect()
}

/// The variables with which a command reaches the same cluster.
pub(super) fn connection(config: &Config) -> Vec<(&'static str, OsString)> {
    let mut out = vec![("NOMAD_ADDR", OsString::from(&config.address))];
    let auth = config.http_auth.as_ref().map(|(user, password)| match password {
        Some(password) => format!("{user}:{}", password.expose()),
        None => user.clone(),
    });
    let texts = [
        ("NOMAD_REGION", config.region.clone()),
        ("NOMAD_NAMESPACE", config.namespace.clone()),
        ("NOMAD_TOKEN", config.token.as_ref().map(|t| t.expose().to_string())),
        ("NOMAD_HTTP_AUTH", auth),
        ("NOMAD_TLS_SERVER_NAME", config.tls.server_name.clone()),
        ("NOMAD_SKIP_VERIFY", config.tls.skip_verify.then(|| "true".into())),
    ];
    out.extend(texts.into_iter().filter_map(|(name, value)| Some((name, value?.into()))));
    let tls = &config.tls;
    let files = [
        ("NOMAD_CACERT", &tls.ca_cert),
        ("NOMAD_CAPATH", &tls.ca_path),
        ("NOMAD_CLIENT_CERT", &tls.client_cert),
        ("NOMAD_CLIENT_KEY", &tls.client_key),
    ];
    out.extend(files.into_iter().filter_map(|(name, file)| Some((name, file.clone()?.into_os_string()))));
    out
}

impl Cluster for Live {
    fn source(&self) -> &Source {
        &self.source
    }

    fn send(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, Unreachable>> {
        Box::pin(self.answer(request))
    }

    fn run(
        &self,
        token: SecretString,
        arguments: Vec<String>,
        input: Vec<u8>,
    ) -> BoxFuture<'_, Result<CommandOutput, NoCommand>> {
        let mut environment = self.environment.clone();
        if !token.is_empty() {
            environment.push(("NOMAD_TOKEN", token.expose().into()));
        }
        let directory = self.directory.clone();
        Box::pin(self.commands.run(Invocation { arguments, environment, directory, input }))
    }
}
