//! Events of the cluster as they happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use encamp_ui::Cluster;
use futures_util::StreamExt as _;

use super::inbox::Sender;
use super::now;
use crate::events;
use crate::messages::{Message, Stream};
use crate::view::View;

/// The pause before the event stream is opened again.
const REOPEN: Duration = Duration::from_secs(5);
/// The longest line that is read, in bytes: longer ones only say that something changed.
const MAX_LINE: usize = 16 << 20;
/// The longest error that is shown, in bytes.
const MAX_ERROR: usize = 1000;

/// Sends events to the loop and notes that something changed, until the loop ends. Without the stream, views are read at
/// intervals.
pub(super) async fn follow(cluster: Arc<dyn Cluster>, sender: Sender, changed: Arc<AtomicBool>) {
    loop {
        let why = match once(&*cluster, &sender, &changed).await {
            Ok(()) => "the event stream has ended".to_string(),
            Err(e) => e,
        };
        if !sender.send(Message::Stream(Stream::Lost(why))) {
            return;
        }
        tokio::time::sleep(REOPEN).await;
    }
}

/// Follows the stream until it ends.
async fn once(cluster: &dyn Cluster, sender: &Sender, changed: &AtomicBool) -> Result<(), String> {
    let path = View::Events.path(None, "*");
    let request = Request::get(path).body(Body::empty()).map_err(|e| e.to_string())?;
    let answer = cluster.send(request).await.map_err(|e| e.to_string())?;
    let status = answer.status();
    if !status.is_success() {
        let body = to_bytes(answer.into_body(), MAX_ERROR).await.unwrap_or_default();
        return Err(format!("the cluster answered {status}: {}", String::from_utf8_lossy(&body)));
    }
    sender.send(Message::Stream(Stream::Open));
    let (mut pieces, mut begun) = (answer.into_body().into_data_stream(), Vec::new());
    // What happened while there was no stream.
    changed.store(true, Ordering::Release);
    while let Some(piece) = pieces.next().await {
        begun.extend_from_slice(&piece.map_err(|e| e.to_string())?);
        let mut rows = Vec::new();
        while let Some(end) = begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = begun.drain(..=end).collect();
            rows.extend(events::rows(&line, now()));
        }
        if begun.len() > MAX_LINE {
            begun.clear();
            changed.store(true, Ordering::Release);
        }
        if !rows.is_empty() {
            changed.store(true, Ordering::Release);
            if !sender.send(Message::Events(rows)) {
                return Ok(());
            }
        }
    }
    Ok(())
}
