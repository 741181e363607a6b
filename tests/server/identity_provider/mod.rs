//! Identity providers for logins: one of the test, which signs with real keys and can misbehave, and
//! `oidc-provider-mock` of PyPI.

pub(crate) mod browser;
mod keys;
pub(crate) mod published;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) use keys::SigningKey;

use crate::program::Folder;
use crate::tls::Authority;

/// The client that the provider knows, and its secret.
pub(crate) const CLIENT: (&str, &str) = ("encamp", "client-s3cret");
/// The access token that reads user information.
const ACCESS: &str = "access-s3cret";

/// The current time in Unix seconds.
pub(crate) fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(now.as_secs()).expect("before the end of time")
}

/// How the provider answers requests for its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAnswer {
    /// With its keys.
    Keys,
    /// With more than anybody reads.
    Endless,
    /// With more keys than anybody has.
    ManyKeys,
    /// Never.
    Silence,
    /// With another address.
    Redirect,
    /// With an error.
    Failure,
}

/// What the provider does.
pub(crate) struct Behaviour {
    pub(crate) keys: Vec<SigningKey>,
    pub(crate) key_answer: KeyAnswer,
    /// The issuer in the description, if it is a lie.
    pub(crate) issuer: Option<String>,
    /// Members of ID tokens that are lies.
    pub(crate) claims: Json,
    /// What user information says.
    pub(crate) user_info: Json,
    /// The error that codes are answered with.
    pub(crate) refusal: Option<Json>,
}

/// A code and what it was asked with.
struct Code {
    query: HashMap<String, String>,
}

struct Shared {
    url: String,
    behaviour: Mutex<Behaviour>,
    codes: Mutex<HashMap<String, Code>>,
    key_requests: Mutex<usize>,
    /// The last request for tokens: the authorization header, and the form.
    token_request: Mutex<(String, HashMap<String, String>)>,
}

/// A running provider. It ends with the program.
#[derive(Clone)]
pub(crate) struct Provider(Arc<Shared>);

/// Connections with TLS.
struct TlsListener {
    listener: tokio::net::TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else { continue };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

impl Provider {
    /// Without encryption.
    pub(crate) fn start() -> Provider {
        Provider::listen(None)
    }

    /// With a certificate for `localhost` of the authority in `ca.pem` of the folder.
    pub(crate) fn start_encrypted(folder: &Folder) -> Provider {
        Authority::new().configure(folder, "localhost");
        let file = |name: &str| folder.path().join(name);
        let certificate = CertificateDer::from_pem_file(file("own.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(file("own-key.pem")).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_no_client_auth().with_single_cert(vec![certificate], key);
        Provider::listen(Some(TlsAcceptor::from(Arc::new(config.expect("a configuration")))))
    }

    fn listen(acceptor: Option<TlsAcceptor>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let url = match acceptor {
            Some(_) => format!("https://localhost:{port}"),
            None => format!("http://127.0.0.1:{port}"),
        };
        let behaviour = Behaviour {
            keys: vec![SigningKey::new("first")],
            key_answer: KeyAnswer::Keys,
            issuer: None,
            claims: json!({}),
            user_info: json!({"sub": "alice", "groups": ["developers"]}),
            refusal: None,
        };
        let shared = Arc::new(Shared {
            url,
            behaviour: Mutex::new(behaviour),
            codes: Mutex::default(),
            key_requests: Mutex::default(),
            token_request: Mutex::default(),
        });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(describe))
            .route("/jwks", get(key_set))
            .route("/authorize", get(authorize))
            .route("/token", post(tokens))
            .route("/userinfo", get(user_info))
            .with_state(shared.clone());
        let (ready, began) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                ready.send(()).expect("the test waits");
                match acceptor {
                    Some(acceptor) => axum::serve(TlsListener { listener, acceptor }, router).await,
                    None => axum::serve(listener, router).await,
                }
            })
        });
        began.recv().expect("the provider starts");
        Provider(shared)
    }

    /// Its address, which is its issuer.
    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    /// Changes what it does.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.0.behaviour.lock());
    }

    /// How many times its keys were asked for.
    pub(crate) fn key_requests(&self) -> usize {
        *self.0.key_requests.lock()
    }

    /// The authorization header and the form of the last request for tokens.
    pub(crate) fn token_request(&self) -> (String, HashMap<String, String>) {
        self.0.token_request.lock().clone()
    }

    /// A token signed with its first key; members of `more` replace those that are usual.
    pub(crate) fn token(&self, more: &Json) -> String {
        let mut claims = json!({"iss": self.url(), "sub": "alice", "aud": "encamp", "iat": now(), "exp": now() + 300,
            "email": "alice@example.test", "groups": ["developers"]});
        overwrite(&mut claims, more);
        self.0.behaviour.lock().keys.first().expect("a key").sign(&claims)
    }
}

fn overwrite(claims: &mut Json, more: &Json) {
    for (name, value) in more.as_object().expect("an object") {
        claims[name] = value.clone();
    }
}

fn answer(status: StatusCode, body: &Json) -> Response<Body> {
    let head = Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
    head.body(Body::from(body.to_string())).expect("an answer")
}

async fn describe(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let (url, lie) = (&shared.url, shared.behaviour.lock().issuer.clone());
    let body = json!({
        "issuer": lie.unwrap_or_else(|| url.clone()), "jwks_uri": format!("{url}/jwks"),
        "authorization_endpoint": format!("{url}/authorize"), "token_endpoint": format!("{url}/token"),
        "userinfo_endpoint": format!("{url}/userinfo"), "response_types_supported": ["code"],
        "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["ES256"],
    });
    answer(StatusCode::OK, &body)
}

async fn key_set(State(shared): State<Arc<Shared>>) -> Response<Body> {
    *shared.key_requests.lock() += 1;
    let (behaviour, keys) = {
        let behaviour = shared.behaviour.lock();
        (behaviour.key_answer, behaviour.keys.iter().map(SigningKey::jwk).collect::<Vec<Json>>())
    };
    match behaviour {
        KeyAnswer::Keys => answer(StatusCode::OK, &json!({ "keys": keys })),
        KeyAnswer::ManyKeys => answer(StatusCode::OK, &json!({ "keys": vec![&keys[0]; 101] })),
        KeyAnswer::Endless => {
            let chunk = Ok::<Bytes, std::convert::Infallible>(Bytes::from(vec![b' '; 64 << 10]));
            Response::new(Body::from_stream(futures_util::stream::repeat(chunk)))
        }
        KeyAnswer::Silence => std::future::pending().await,
        KeyAnswer::Redirect => {
            let to = format!("{}/elsewhere", shared.url);
            let head = Response::builder().status(StatusCode::FOUND).header(header::LOCATION, to);
            head.body(Body::empty()).expect("an answer")
        }
        KeyAnswer::Failure => answer(StatusCode::INTERNAL_SERVER_ERROR, &json!({"error": "the body s3cret"})),
    }
}

/// Every user says yes at once.
async fn authorize(State(shared): State<Arc<Shared>>, Query(query): Query<HashMap<String, String>>) -> Response<Body> {
    assert_eq!((query["response_type"].as_str(), query["client_id"].as_str()), ("code", CLIENT.0));
    let code = format!("code-s3cret-{}", shared.codes.lock().len());
    let to = format!("{}?code={code}&state={}", query["redirect_uri"], query["state"]);
    shared.codes.lock().insert(code, Code { query });
    let head = Response::builder().status(StatusCode::FOUND).header(header::LOCATION, to);
    head.body(Body::empty()).expect("an answer")
}

async fn tokens(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let form: HashMap<String, String> = form_urlencoded::parse(&body).into_owned().collect();
    let authorization = headers.get(header::AUTHORIZATION).and_then(|h| h.to_str().ok()).unwrap_or_default();
    *shared.token_request.lock() = (authorization.to_string(), form.clone());
    let refused = |code: &str| answer(StatusCode::BAD_REQUEST, &json!({"error": code, "error_description": "s3cret"}));
    if let Some(refusal) = &shared.behaviour.lock().refusal {
        return answer(StatusCode::BAD_REQUEST, refusal);
    }
    let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", CLIENT.0, CLIENT.1)));
    if authorization != basic && !form.contains_key("client_assertion") {
        return refused("invalid_client");
    }
    // A code works once.
    let code = form.get("code").and_then(|code| shared.codes.lock().remove(code));
    let Some(Code { query }) = code else { return refused("invalid_grant") };
    let verifier = form.get("code_verifier").map(|v| URL_SAFE_NO_PAD.encode(digest(&SHA256, v.as_bytes())));
    if form.get("redirect_uri") != query.get("redirect_uri") || verifier.as_ref() != query.get("code_challenge") {
        return refused("invalid_grant");
    }
    let behaviour = shared.behaviour.lock();
    let mut claims = json!({"iss": shared.url, "sub": "alice", "aud": CLIENT.0, "iat": now(), "exp": now() + 300,
        "nonce": query["nonce"], "email": "alice@example.test"});
    overwrite(&mut claims, &behaviour.claims);
    let id_token = behaviour.keys.first().expect("a key").sign(&claims);
    answer(
        StatusCode::OK,
        &json!({"access_token": ACCESS, "token_type": "Bearer", "expires_in": 300, "id_token": id_token}),
    )
}

async fn user_info(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response<Body> {
    let allowed =
        headers.get(header::AUTHORIZATION).is_some_and(|h| h.as_bytes() == format!("Bearer {ACCESS}").as_bytes());
    match allowed {
        true => answer(StatusCode::OK, &shared.behaviour.lock().user_info),
        false => answer(StatusCode::UNAUTHORIZED, &json!({})),
    }
}
