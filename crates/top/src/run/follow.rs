//! A log that is followed.

use axum::body::{Body, to_bytes};
use axum::http::Request;
use encamp_ui::Cluster;
use futures_util::StreamExt as _;

use super::inbox::Sender;
use crate::messages::{Message, Piece};

/// The longest error that is shown, in bytes.
const MAX_ERROR: usize = 1000;

/// Sends what a task writes to the loop until it ends or the future is dropped.
pub(super) async fn follow(cluster: &dyn Cluster, sender: &Sender, id: u64, path: &str) {
    let why = match once(cluster, sender, id, path).await {
        Ok(()) => "The task has ended, or the connection. r: read again".to_string(),
        Err(e) => e,
    };
    sender.send(Message::Log(id, Piece::End(why)));
}

async fn once(cluster: &dyn Cluster, sender: &Sender, id: u64, path: &str) -> Result<(), String> {
    let request = Request::get(path).body(Body::empty()).map_err(|e| e.to_string())?;
    let answer = cluster.send(request).await.map_err(|e| e.to_string())?;
    let status = answer.status();
    if !status.is_success() {
        let body = to_bytes(answer.into_body(), MAX_ERROR).await.unwrap_or_default();
        return Err(format!("the cluster answered {status}: {}", String::from_utf8_lossy(&body)));
    }
    let (mut pieces, mut begun) = (answer.into_body().into_data_stream(), Vec::new());
    while let Some(piece) = pieces.next().await {
        begun.extend_from_slice(&piece.map_err(|e| e.to_string())?);
        // The bytes of a character may come in two pieces.
        let whole = whole(&begun);
        let text = String::from_utf8_lossy(begun.get(..whole).unwrap_or_default()).into_owned();
        begun.drain(..whole);
        if !sender.send(Message::Log(id, Piece::Text(text))) {
            return Ok(());
        }
    }
    Ok(())
}

/// How many bytes do not end within a character.
fn whole(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() => e.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_not_cut() {
        assert_eq!((whole("aé".as_bytes()), whole(b"a\xc3"), whole(b"a\xffb")), (3, 1, 3));
    }
}
