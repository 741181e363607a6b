//! The web UI of the agent: pages that reach its HTTP API within the process, and commands as subprocesses.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, State};
use axum::http::header::{CONTENT_LENGTH, Entry, SET_COOKIE, TRANSFER_ENCODING};
use axum::http::{Extensions, HeaderMap, HeaderValue, Request, Response};
use axum::middleware::map_response_with_state;
use encamp_host::ids;
use encamp_http::AppState;
use encamp_http::agent::state::WeakAppState;
use encamp_http::serve::http1::Peer;
use encamp_model::SecretString;
use encamp_ui::appearance::{Appearance, Label, NoSource};
use encamp_ui::command::{Commands, Invocation, PAGE_LIMIT};
use encamp_ui::{Cluster, CommandOutput, Entrance, NoCommand, Source, Unreachable};
use futures_util::future::BoxFuture;
use hyper::upgrade::OnUpgrade;
use parking_lot::RwLock;

use super::config::Config;
use super::config::client::{Policy, Ui};
use super::tls::http_client_tls;

/// The folder for the caches of commands, below the data directory.
const FOLDER: &str = "web-ui";

/// What the web UI needs of the agent, until the agent stops.
#[derive(Clone)]
pub struct WebUi(Arc<Own>);

/// The agent as the cluster behind its pages.
struct Own {
    /// The state holds the pages.
    app: WeakAppState,
    source: Source,
    appearance: Appearance,
    commands: Commands,
    /// The variables of the connection, which a reload of the TLS settings changes.
    connection: RwLock<Vec<(&'static str, OsString)>>,
    /// Whether the HTTP port has TLS.
    tls: AtomicBool,
    /// Caches of commands; nobody else may read them.
    folder: PathBuf,
    /// Whether the folder goes with the agent: it has no data directory.
    scratch: bool,
}

/// Why there is no web UI.
#[derive(Debug, thiserror::Error)]
pub enum WebUiError {
    /// The folder cannot be made, the program is not found, or the system has no random numbers.
    #[error("web UI setup failed: {0}")]
    Io(#[from] io::Error),
    /// A setting of the block `ui`.
    #[error("ui block invalid: content_security_policy: {0}")]
    Policy(#[from] NoSource),
}

impl WebUi {
    /// Prepares the pages; nothing, if they are disabled. The ports must be chosen.
    ///
    /// # Errors
    /// See [`WebUiError`].
    pub fn new(config: &Config, app: &AppState) -> Result<Option<(WebUi, Router)>, WebUiError> {
        if !config.ui.enabled {
            return Ok(None);
        }
        let scratch = config.data_dir.is_empty();
        let parent = if scratch { std::env::temp_dir() } else { PathBuf::from(&config.data_dir) };
        let folder = parent.join(if scratch { format!("encamp-{FOLDER}-{}", ids::uuid()) } else { FOLDER.into() });
        private_folder(&folder)?;
        let own = Own {
            app: app.downgrade(),
            source: Source::Agent { region: config.region.clone(), acl: config.acl.enabled },
            appearance: appearance(&config.ui)?,
            commands: Commands::new(std::env::current_exe()?, PAGE_LIMIT),
            connection: RwLock::new(connection(config)),
            tls: AtomicBool::new(config.tls.http),
            folder,
            scratch,
        };
        let own = Arc::new(own);
        let pages = encamp_ui::router(own.clone(), Entrance::Open)?;
        let pages = pages.layer(map_response_with_state(own.clone(), with_secure_cookies));
        Ok(Some((WebUi(own), pages)))
    }

    /// Commands use other TLS settings from now on.
    pub fn tls_changed(&self, config: &Config) {
        *self.0.connection.write() = connection(config);
        self.0.tls.store(config.tls.http, Ordering::Relaxed);
    }

    /// Removes what goes with the agent.
    pub fn stop(&self) {
        if self.0.scratch {
            let _ = std::fs::remove_dir_all(&self.0.folder);
        }
    }
}

/// Makes a folder that only the agent may use.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700).recursive(true).create(folder)
}

/// The label, and the sources that differ from Nomad's defaults: those allow its own UI more than encamp's needs.
fn appearance(ui: &Ui) -> Result<Appearance, NoSource> {
    let (given, defaults) = (&ui.content_security_policy, Policy::default());
    let directives = [
        ("connect-src", &given.connect_src, &defaults.connect_src),
        ("default-src", &given.default_src, &defaults.default_src),
        ("form-action", &given.form_action, &defaults.form_action),
        ("frame-ancestors", &given.frame_ancestors, &defaults.frame_ancestors),
        ("img-src", &given.img_src, &defaults.img_src),
        ("script-src", &given.script_src, &defaults.script_src),
        ("style-src", &given.style_src, &defaults.style_src),
    ];
    let chosen = directives.iter().filter(|(_, given, default)| given != default);
    let chosen: Vec<(&str, &[String])> = chosen.map(|(name, given, _)| (*name, given.as_slice())).collect();
    let label = Label {
        text: ui.label.text.clone(),
        background: ui.label.background_color.clone(),
        colour: ui.label.text_color.clone(),
    };
    Appearance::new(Some(label), &chosen)
}

/// The variables with which commands reach the agent's own HTTP API.
fn connection(config: &Config) -> Vec<(&'static str, OsString)> {
    let scheme = if config.tls.http { "https" } else { "http" };
    let address = config.addresses.http.split_whitespace().next().unwrap_or_default();
    let host = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) if ip.is_unspecified() => "127.0.0.1".into(),
        Ok(IpAddr::V6(ip)) if ip.is_unspecified() => "[::1]".into(),
        Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
        _ => address.to_string(),
    };
    let mut out = vec![("NOMAD_ADDR", format!("{scheme}://{host}:{}", config.ports.http).into())];
    if config.tls.http {
        let role = if config.server.enabled { "server" } else { "client" };
        let tls = http_client_tls(config, format!("{role}.{}.nomad", config.region));
        let files = [
            ("NOMAD_CACERT", tls.ca_cert),
            ("NOMAD_CLIENT_CERT", tls.client_cert),
            ("NOMAD_CLIENT_KEY", tls.client_key),
        ];
        out.extend(files.into_iter().filter_map(|(name, file)| Some((name, file?.into_os_string()))));
        out.extend(tls.server_name.map(|name| ("NOMAD_TLS_SERVER_NAME", name.into())));
    }
    out
}

/// With TLS, browsers send the cookies of the pages over TLS alone.
async fn with_secure_cookies(State(own): State<Arc<Own>>, mut response: Response<Body>) -> Response<Body> {
    if own.tls.load(Ordering::Relaxed) {
        secure_cookies(response.headers_mut());
    }
    response
}

fn secure_cookies(headers: &mut HeaderMap) {
    let Entry::Occupied(mut cookies) = headers.entry(SET_COOKIE) else { return };
    for cookie in cookies.iter_mut() {
        let secure = [cookie.as_bytes(), b"; Secure".as_slice()].concat();
        if let Ok(mut secure) = HeaderValue::from_bytes(&secure) {
            secure.set_sensitive(cookie.is_sensitive());
            *cookie = secure;
        }
    }
}

/// What an API request has of the browser's: its address, for limits and the audit log, and its connection.
fn carried(from: &Extensions) -> Extensions {
    let mut out = Extensions::new();
    if let Some(peer) = from.get::<ConnectInfo<Peer>>() {
        out.insert(peer.clone());
    }
    if let Some(upgrade) = from.get::<OnUpgrade>() {
        out.insert(upgrade.clone());
    }
    out
}

/// The request with the length of its body, as a connection would announce it.
pub(crate) fn with_length(mut request: Request<Body>) -> Request<Body> {
    let length = request.body().size_hint().exact();
    let headers = request.headers_mut();
    if !headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING) {
        match length {
            Some(0) => {}
            Some(bytes) => drop(headers.insert(CONTENT_LENGTH, bytes.into())),
            None => drop(headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"))),
        }
    }
    request
}

impl Cluster for Own {
    fn source(&self) -> &Source {
        &self.source
    }

    fn appearance(&self) -> Option<&Appearance> {
        Some(&self.appearance)
    }

    fn send(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, Unreachable>> {
        let (mut parts, body) = request.into_parts();
        parts.extensions = carried(&parts.extensions);
        let request = with_length(Request::from_parts(parts, body));
        let app = self.app.upgrade().ok_or_else(|| Unreachable("the agent is stopping".into()));
        Box::pin(async move { Ok(encamp_http::respond(app?, request).await) })
    }

    fn run(
        &self,
        token: SecretString,
        arguments: Vec<String>,
        input: Vec<u8>,
    ) -> BoxFuture<'_, Result<CommandOutput, NoCommand>> {
        let mut environment = self.connection.read().clone();
        // Job files come from browsers: they must not read the files of this machine.
        environment.push(("ENCAMP_FILE_FUNCTIONS", "false".into()));
        environment.push(("NOMAD_TOKEN", token.expose().into()));
        for name in ["HOME", "ENCAMP_CACHE_DIR", "ENCAMP_CONFIG_DIR"] {
            environment.push((name, self.folder.clone().into()));
        }
        let directory = self.folder.clone();
        Box::pin(self.commands.run(Invocation { arguments, environment, directory, input }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_reach_the_agent_on_an_address_that_it_listens_on() {
        let mut config = Config::default();
        config.ports.http = 4646;
        for (bound, want) in [
            ("0.0.0.0", "http://127.0.0.1:4646"),
            ("::", "http://[::1]:4646"),
            ("10.0.0.1 127.0.0.1", "http://10.0.0.1:4646"),
        ] {
            config.addresses.http = bound.into();
            assert_eq!(connection(&config), [("NOMAD_ADDR", want.into())]);
        }
        (config.tls.http, config.tls.ca_file, config.server.enabled) = (true, "ca.pem".into(), true);
        let variables = connection(&config);
        assert!(variables.contains(&("NOMAD_CACERT", "ca.pem".into())), "{variables:?}");
        assert!(variables.contains(&("NOMAD_TLS_SERVER_NAME", "server.global.nomad".into())), "{variables:?}");
    }

    #[test]
    fn cookies_become_secure() {
        let mut headers = HeaderMap::new();
        secure_cookies(&mut headers);
        assert!(headers.is_empty());
        for cookie in ["a=1; Path=/ui/", "b=2"] {
            headers.append(SET_COOKIE, HeaderValue::from_static(cookie));
        }
        secure_cookies(&mut headers);
        let cookies: Vec<&HeaderValue> = headers.get_all(SET_COOKIE).iter().collect();
        assert_eq!(cookies, ["a=1; Path=/ui/; Secure", "b=2; Secure"]);
    }

    #[test]
    fn bodies_are_announced() {
        let length = |body: Body| with_length(Request::new(body)).headers().get(CONTENT_LENGTH).cloned();
        assert_eq!((length(Body::empty()), length(Body::from("abc"))), (None, Some(HeaderValue::from(3))));
        let stream = Body::from_stream(futures_util::stream::iter([Ok::<_, io::Error>("abc")]));
        assert_eq!(with_length(Request::new(stream)).headers()[TRANSFER_ENCODING], "chunked");
    }

    #[test]
    fn the_policy_changes_where_the_configuration_differs_from_the_default() {
        let mut ui = Ui::default();
        let policy = |ui: &Ui| format!("{:?}", appearance(ui).expect("sources"));
        assert!(policy(&ui).contains("policy: None"), "{}", policy(&ui));
        ui.content_security_policy.img_src.push("https://pictures.example".into());
        assert!(policy(&ui).contains("https://pictures.example") && !policy(&ui).contains("unsafe-inline"));
        ui.content_security_policy.img_src.push("x; script-src *".into());
        assert!(appearance(&ui).is_err());
    }
}
