//! Pages from this computer: for a snapshot file, or in front of a running cluster (`docs/spec/cli.md §15.6`).

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use encamp_agent::frozen::FrozenApi;
use encamp_model::{SecretString, quoted};
use encamp_ui::command::Commands;
use encamp_ui::{Cluster, Entrance, Source};
use form_urlencoded::byte_serialize;
use futures_util::future::OptionFuture;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::file::FileCluster;
use super::live::Live;
use super::{open, page};
use crate::cluster::SnapshotFlags;
use crate::command::Registry;
use crate::context::Context;
use crate::error::{CommandResult, ErrorContext};
use crate::file_state::FileState;
use crate::general::GeneralFlags;
use crate::status;

/// The bytes of the token in the address.
const RANDOM: usize = 32;
/// Variables that commands have of this process besides those of every command: where caches are.
const INHERITED: &[&str] = &["HOME", "XDG_CACHE_HOME", "ENCAMP_CACHE_DIR"];

/// How pages are served.
pub(super) struct Serving {
    /// The port on 127.0.0.1; 0 for a free one.
    pub port: u16,
    /// Whether the address is opened in a browser.
    pub opens: bool,
}

/// Serves pages about a snapshot file or server backup, until a signal ends it.
pub(super) fn file(
    context: &mut Context<'_, '_>,
    name: &str,
    reading: &SnapshotFlags,
    id: Option<&str>,
    serving: &Serving,
) -> CommandResult<u8> {
    let runtime = runtime()?;
    let (cluster, shown) = file_cluster(context, &runtime, name, reading)?;
    let path = id.map_or_else(|| "/ui/".into(), |id| format!("/ui/search?q={}", encoded(id)));
    let served = until_stopped(context, &runtime, cluster.clone(), &path, &shown, serving);
    runtime.block_on(cluster.api.stop());
    let _ = std::fs::remove_dir_all(&cluster.directory);
    end(runtime);
    served
}

/// Serves pages in front of a running cluster, until a signal ends it.
pub(super) fn live(
    context: &mut Context<'_, '_>,
    general: &GeneralFlags,
    id: Option<&str>,
    serving: &Serving,
) -> CommandResult<u8> {
    let client = general.client(context.env)?;
    let runtime = runtime()?;
    let path = match id {
        None => "/ui/".to_string(),
        Some(id) => {
            let read = runtime.block_on(Box::pin(client.search(id)));
            let (answer, _) = read.context(format_args!("Error querying search with id: {}", quoted(id)))?;
            let (kind, full) = status::found(id, answer)?;
            page(&kind, &full)
        }
    };
    let (shown, directory) = (client.address().to_string(), scratch()?);
    let cluster = Arc::new(Live::new(client, commands()?, environment(), directory.clone()));
    let served = until_stopped(context, &runtime, cluster, &path, &shown, serving);
    let _ = std::fs::remove_dir_all(directory);
    end(runtime);
    served
}

/// A snapshot file or server backup as a cluster, and its name.
fn file_cluster(
    context: &mut Context<'_, '_>,
    runtime: &Runtime,
    name: &str,
    reading: &SnapshotFlags,
) -> CommandResult<(Arc<FileCluster>, String)> {
    let state = FileState::read(name, reading, context.env)?;
    let shown = Path::new(name).file_name().map_or_else(|| name.into(), |n| n.to_string_lossy().into_owned());
    state.notes.iter().for_each(|note| context.ui.warn(note));
    let api = runtime.block_on(FrozenApi::start(state.store, state.now)).context("Error reading snapshot")?;
    let mut flags = vec![format!("-snapshot={}", context.env.directory.join(name).display())];
    flags.extend(reading.ignore_unknown_tables.then(|| "-ignore-unknown-tables".to_string()));
    let cluster = Arc::new(FileCluster {
        api,
        source: Source::File { name: shown.clone(), taken: state.taken.unwrap_or(0) },
        commands: commands()?,
        environment: environment(),
        directory: scratch()?,
        flags,
        registry: Registry::new(),
    });
    Ok((cluster, shown))
}

/// Shows a snapshot file or server backup on the terminal.
pub(crate) fn top_of_file(
    context: &mut Context<'_, '_>,
    name: &str,
    reading: &SnapshotFlags,
    colours: bool,
) -> CommandResult<u8> {
    let runtime = runtime()?;
    let (cluster, _) = file_cluster(context, &runtime, name, reading)?;
    context.env.terminal.handle_signals_in_command();
    let shown = encamp_top::run::run(cluster.clone(), &runtime, colours);
    runtime.block_on(cluster.api.stop());
    let _ = std::fs::remove_dir_all(&cluster.directory);
    end(runtime);
    shown.context("Error using the terminal")?;
    Ok(0)
}

/// Shows a running cluster on the terminal.
pub(crate) fn top_of_cluster(
    context: &mut Context<'_, '_>,
    general: &GeneralFlags,
    colours: bool,
) -> CommandResult<u8> {
    let client = general.client(context.env)?;
    let runtime = runtime()?;
    let cluster = Arc::new(Live::new(client, commands()?, environment(), context.env.directory.clone()));
    context.env.terminal.handle_signals_in_command();
    let shown = encamp_top::run::run(cluster, &runtime, colours);
    end(runtime);
    shown.context("Error using the terminal")?;
    Ok(0)
}

fn runtime() -> CommandResult<Runtime> {
    Builder::new_multi_thread().enable_all().build().context("Error starting the network runtime")
}

/// Requests that are still open must not delay the exit.
fn end(runtime: Runtime) {
    runtime.shutdown_background();
}

/// The commands of this program.
fn commands() -> CommandResult<Commands> {
    Ok(Commands::new(std::env::current_exe().context("Error finding this program")?))
}

/// What commands have of the environment of this process.
fn environment() -> Vec<(&'static str, OsString)> {
    let mut out: Vec<_> = INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))).collect();
    // As in an agent: the job files of pages read no other files.
    out.push((crate::environment_variables::FILE_FUNCTIONS, "false".into()));
    out
}

/// An empty directory for commands to run in.
fn scratch() -> CommandResult<PathBuf> {
    let directory = std::env::temp_dir().join(format!("encamp-ui-{}", encamp_host::ids::uuid()));
    std::fs::DirBuilder::new().mode(0o700).create(&directory).context("Error creating a temporary directory")?;
    Ok(directory)
}

/// A token that nobody can guess.
fn random_token() -> CommandResult<String> {
    let mut bytes = [0; RANDOM];
    let filled = SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"));
    filled.context("Error creating a token")?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn encoded(text: &str) -> String {
    byte_serialize(text.as_bytes()).collect()
}

/// Serves the pages of a cluster on the loopback interface.
fn until_stopped(
    context: &mut Context<'_, '_>,
    runtime: &Runtime,
    cluster: Arc<dyn Cluster>,
    path: &str,
    shown: &str,
    serving: &Serving,
) -> CommandResult<u8> {
    context.env.terminal.handle_signals_in_command();
    let listening = runtime.block_on(async {
        let signals = Signals::new()?;
        Ok((TcpListener::bind((Ipv4Addr::LOCALHOST, serving.port)).await?, signals))
    });
    let (listener, mut signals) = listening.map_err(|e: io::Error| e).context("Error serving the web UI")?;
    let address = listener.local_addr().context("Error serving the web UI")?;
    let token = random_token()?;
    let url = with_token(address, path, &token);
    let entrance = Entrance::Token { token: SecretString::from(token), hosts: hosts(address.port()) };
    let pages = encamp_ui::router(cluster, entrance).context("Error serving the web UI")?;
    let pages = pages.route("/", axum::routing::get(|| async { axum::response::Redirect::temporary("/ui/") }));
    context.ui.output(&format!("URL for web UI: {url}"));
    context.ui.output(&format!("Serving {shown}. The address admits one browser. Press Ctrl-C to stop."));
    // Some openers go on until the browser is closed.
    let opening = serving.opens.then(|| runtime.spawn_blocking(move || open(&url)));
    runtime.block_on(async {
        let mut opening = pin!(OptionFuture::from(opening));
        let mut served = pin!(axum::serve(listener, pages).into_future());
        loop {
            tokio::select! {
                Some(opened) = &mut opening => {
                    opening.set(None.into());
                    if let Ok(Err(e)) = opened {
                        context.ui.warn(&format!("Failed to open browser: {e}"));
                    }
                }
                served = &mut served => return served.context("Error serving the web UI"),
                () = signals.next() => return Ok(()),
            }
        }
    })?;
    Ok(0)
}

/// The names of this computer in addresses. Requests that name another host come from a page of that host.
fn hosts(port: u16) -> Vec<String> {
    vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")]
}

/// The first address: the path may have parameters.
fn with_token(address: SocketAddr, path: &str, token: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("http://{address}{path}{sign}entrance={token}")
}

/// The signals that end it.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_a_parameter_of_the_first_address() {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 4747));
        assert_eq!(with_token(address, "/ui/", "t"), "http://127.0.0.1:4747/ui/?entrance=t");
        let search = format!("/ui/search?q={}", encoded("a b&c"));
        assert_eq!(with_token(address, &search, "t"), "http://127.0.0.1:4747/ui/search?q=a+b%26c&entrance=t");
    }
}
