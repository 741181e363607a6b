//! A storage plugin for tests, as a program of its own (`docs/dev/csi.md`).
//!
//! Volumes are directories of a *storage* directory, which stands for the storage provider: all plugins of a test, one
//! per "node" and one or more controllers, share it. The plugin checks what a provider can check: it refuses calls in
//! the wrong order, and records two writers of a volume that allows one as a *violation*. Faults come from a file, and
//! a journal tells which calls were made.
//!
//! - `options`: the command line. `calls`: what is common to all calls: journal, faults, one call per volume at a time.
//!   `faults`: the file with the faults. `twice`: answers that are sent twice.
//! - `storage`, `records`: volumes, snapshots and nodes, in files that survive SIGKILL at any point.
//! - `identity`, `controller`, `snapshots`, `node`: the services. `mounts`: bind mounts.

mod calls;
mod controller;
mod faults;
mod identity;
mod mounts;
mod node;
mod options;
mod records;
mod snapshots;
mod storage;
mod twice;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use encamp_csi::proto::controller_server::ControllerServer;
use encamp_csi::proto::identity_server::IdentityServer;
use encamp_csi::proto::node_server::NodeServer;
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

use calls::Calls;
use options::{Mode, Options};
use storage::Storage;

/// A service of the plugin.
#[derive(Clone)]
struct Service {
    options: Arc<Options>,
    calls: Arc<Calls>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Box<dyn Error>> {
    let storage = Storage::open(&options.storage)?;
    {
        let mut locked = storage.lock()?;
        locked.clean()?;
        if options.mode != Mode::Controller {
            locked.save_node(&options.node())?;
        }
    }
    let socket = options.socket()?;
    // One that a killed plugin left behind.
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(|e| format!("{}: {e}", socket.display()))?;
    let options = Arc::new(options);
    let service = Service { options: options.clone(), calls: Arc::new(Calls::new(storage, &options)) };
    let controller = (options.mode != Mode::Node).then(|| ControllerServer::new(service.clone()));
    let node = (options.mode != Mode::Controller).then(|| NodeServer::new(service.clone()));
    println!("listening on {}", socket.display());
    Server::builder()
        .layer(twice::layer())
        .add_service(IdentityServer::new(service))
        .add_optional_service(controller)
        .add_optional_service(node)
        .serve_with_incoming(UnixListenerStream::new(listener))
        .await?;
    Ok(())
}
