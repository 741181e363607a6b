//! Monitors a dynamic host volume until it is ready (`docs/spec/cli.md §12.3`).

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::Lines;
use super::frame::Frame;
use crate::connection::Connection;
use crate::error::{CommandResult, ErrorContext};
use crate::render::ui::Ui;
use crate::render::values;
use crate::volume::status::host_block;
use encamp_api::{ApiError, Client, Meta, Query};
use encamp_model::{HostVolume, HostVolumeState, quoted};

/// The time between frames on a terminal.
const FRAME: Duration = Duration::from_millis(100);

/// Monitors a volume until it is ready: in place on a terminal, else with a line at the beginning and one at the end.
///
/// # Errors
/// The volume can't be read, or is gone.
pub fn watch(connection: &Connection, ui: &mut Ui<'_>, volume: &HostVolume, verbose: bool) -> CommandResult<u8> {
    let shown = quoted(values::id(&volume.id, verbose));
    let mut frame = Frame::of_terminal(ui);
    let mut lines = Lines::marked(ui, connection.zone.clone());
    if frame.is_none() {
        lines.info(&format!("Monitoring volume {shown}..."));
    }
    let mut index = None;
    loop {
        let heading = format!("Host volume {shown} in progress...");
        let read = look(&connection.client, volume, index);
        let seen = connection.wait(drawing(read, || {
            if let Some(frame) = &mut frame {
                frame.draw(lines.ui, &heading, "");
            }
        }));
        let (now, meta) = seen.context("Error querying host volume")?;
        index = Some(meta.index);
        if now.state != HostVolumeState::Ready {
            continue;
        }
        match &mut frame {
            Some(frame) => {
                let body = format!("\n{}\n{}", lines.now(), host_block(&now));
                frame.end(lines.ui, "✓", &format!("Host volume {shown} ready"), &body);
            }
            // The reference shortens the name as it does IDs.
            None => lines.info(&format!("Volume {} ready", quoted(values::id(&now.name, verbose)))),
        }
        return Ok(0);
    }
}

/// The volume once it is newer than the index.
async fn look(client: &Client, volume: &HostVolume, index: Option<u64>) -> Result<(HostVolume, Meta), ApiError> {
    let query = Query { index, ..Query::in_namespace(&volume.namespace) };
    client.get(&encamp_api::path("/v1/volume/host/", &volume.id, ""), &query).await
}

/// Waits for a read, and draws at regular intervals until it ends.
async fn drawing<T>(read: impl Future<Output = T>, mut draw: impl FnMut()) -> T {
    let mut ticks = interval(FRAME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut read = std::pin::pin!(read);
    loop {
        tokio::select! {
            seen = &mut read => break seen,
            _ = ticks.tick() => draw(),
        }
    }
}
