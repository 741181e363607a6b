//! Pages from this computer: for a snapshot file, or in front of a running cluster (`docs/spec/cli.md §15.6`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use encamp_host::platform::signals::EndSignals;
use encamp_model::{SecretString, quoted};
use encamp_ui::command::PAGE_LIMIT;
use encamp_ui::{Cluster, Entrance};
use form_urlencoded::byte_serialize;
use futures_util::future::OptionFuture;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::{open, page};
use crate::cluster::SnapshotFlags;
use crate::context::Context;
use crate::error::{CommandResult, ErrorContext};
use crate::general::GeneralFlags;
use crate::status;
use crate::ui_cluster::{Caller, OpenCluster, runtime};

/// The bytes of the token in the address.
const RANDOM: usize = 32;

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
    let open = OpenCluster::of_file(context, name, reading, (PAGE_LIMIT, Caller::Other))?;
    let path = id.map_or_else(|| "/ui/".into(), |id| format!("/ui/search?q={}", encoded(id)));
    let served = until_stopped(context, &open.runtime, open.cluster.clone(), &path, &open.shown, serving);
    open.close();
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
    let open = OpenCluster::of_client(client, runtime, (PAGE_LIMIT, Caller::Other), &context.env.directory)?;
    let served = until_stopped(context, &open.runtime, open.cluster.clone(), &path, &open.shown, serving);
    open.close();
    served
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
        let signals = EndSignals::listen()?;
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
                _ = signals.next() => return Ok(()),
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
