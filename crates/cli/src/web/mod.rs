//! `ui`: the web interface (`docs/spec/cli.md §15.6`).
//!
//! It opens the pages of the cluster's agent, or serves pages from this computer ([`serve`]): for a snapshot file, or in
//! front of a running cluster.

pub(crate) mod hint;
mod serve;

use std::process::{Command, Stdio};

use self::serve::Serving;
use super::cluster::SnapshotFlags;
use super::command::Run;
use super::command_meta::Meta;
use super::completion::values::CompleteWith;
use super::context::Context;
use super::error::ErrorContext;
use super::general::GeneralFlags;
use super::status;
use encamp_api::path;
use encamp_model::quoted;

/// Open the web UI
///
/// Opens the web UI of the cluster in a browser: the page of the object whose ID or name has the argument as a prefix,
/// or the start page.
///
/// With -snapshot or -serve, the pages come from this computer: about a snapshot file or server backup, which nothing
/// can change, or about the running cluster, whatever UI its agents have. They are served on 127.0.0.1 until the command
/// is interrupted. The printed address admits one browser.
#[derive(Debug, clap::Parser)]
pub struct Web {
    /// Accepted for compatibility: signing in is left to the browser
    #[arg(long)]
    pub authenticate: bool,
    /// Print the URL instead of opening a browser
    #[arg(long)]
    pub show_url: bool,
    /// Serve the pages of a snapshot file or server backup from this computer
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    /// Serve the pages of the running cluster from this computer, with the token of the command
    #[arg(long)]
    pub serve: bool,
    /// Port of pages from this computer. Default: a free port
    #[arg(long, value_name = "port")]
    pub port: Option<u16>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "identifier")]
    pub(crate) optional_args: Vec<String>,
}

/// The page of an object.
fn page(kind: &str, id: &str) -> String {
    let below = |folder: &str| path(&format!("/ui/{folder}/"), id, "");
    match kind {
        "allocs" => below("allocations"),
        "evals" => format!("/ui/evaluations?currentEval={id}"),
        "jobs" => below("jobs"),
        "nodes" => below("clients"),
        "plugins" => below("storage/plugins"),
        "volumes" | "host_volumes" => below("storage/volumes"),
        _ => "/ui".into(),
    }
}

impl Run for Web {
    const META: Meta = Meta::new("ui").examples(&[
        ("Open the web UI in a browser", "encamp ui"),
        ("Print the URL of a job", "encamp ui -show-url web"),
        ("Look at a snapshot file in a browser", "encamp ui -snapshot fixtures/demo/cluster.json"),
        ("Serve pages in front of a running cluster", "encamp ui -serve -address https://nomad.example.com:4646"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let id = match self.optional_args.as_slice() {
            [] => None,
            [id] => Some(id.as_str()),
            _ => return context.usage_error("This command takes no arguments or one: <identifier>"),
        };
        let serving = Serving { port: self.port.unwrap_or(0), opens: !self.show_url };
        if let Some(file) = &self.snapshot {
            return context.attempt(|context| serve::file(context, file, &self.reading, id, &serving));
        }
        if self.serve {
            return context.attempt(|context| serve::live(context, &self.general, id, &serving));
        }
        context.connected(&self.general, |c, context| {
            let page = match id {
                None => "/ui".to_string(),
                Some(id) => {
                    let read = c.wait(c.client.search(id));
                    let (answer, _) = read.context(format_args!("Error querying search with id: {}", quoted(id)))?;
                    let (kind, full) = status::found(id, answer)?;
                    page(&kind, &full)
                }
            };
            let url = format!("{}{page}", c.client.address().trim_end_matches('/'));
            if self.show_url {
                context.ui.output(&format!("URL for web UI: {url}"));
                return Ok(0);
            }
            context.ui.output(&format!("Opening URL {}", quoted(&url)));
            open(&url).context("Failed to open browser")?;
            Ok(0)
        })
    }
}

/// The program that opens the default browser, and its arguments before the address.
const OPENER: (&str, &[&str]) = if cfg!(target_os = "macos") {
    ("open", &[])
} else if cfg!(windows) {
    // No shell, which would read the address as a command.
    ("rundll32", &["url.dll,FileProtocolHandler"])
} else {
    ("xdg-open", &[])
};

/// The command that opens a URL with the default browser.
pub(super) fn opener(url: &str) -> Command {
    let mut command = Command::new(OPENER.0);
    command.args(OPENER.1).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Opens a URL with the default browser.
fn open(url: &str) -> std::io::Result<()> {
    let status = opener(url).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("{} ended with {status}", OPENER.0))) }
}
