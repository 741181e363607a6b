//! Connections over the bodies of an HTTP/2 request and its answer, and connections that a request took over.
//!
//! HTTP/2 has no upgrades. Where agents pass on a request that opens a websocket, its bytes are the body of the request
//! in one direction and the body of the answer in the other one. Both sides are bounded: who does not read stops who
//! writes.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Extensions;
use futures_util::{SinkExt, StreamExt, TryStreamExt, stream};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::io::{CopyToBytes, SinkWriter, StreamReader};
use tokio_util::sync::PollSender;

/// Pieces that wait to be sent.
const UNSENT: usize = 4;

/// Something to read and to write.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Any connection.
pub type Connection = Box<dyn Io>;

/// What is written to the writer comes out of the body, which ends when the writer is shut down or dropped.
pub fn writer() -> (impl AsyncWrite + Send + Unpin, Body) {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(UNSENT);
    let sink = PollSender::new(sender).sink_map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
    let pieces = stream::poll_fn(move |cx| receiver.poll_recv(cx).map(|piece| piece.map(Ok::<_, Infallible>)));
    (SinkWriter::new(CopyToBytes::new(sink)), Body::from_stream(pieces))
}

/// Reads a body. A body that breaks off is an error.
pub fn reader(body: Body) -> impl AsyncRead + Send + Unpin {
    let pieces = body.into_data_stream().map_err(io::Error::other);
    StreamReader::new(pieces.filter(|piece| std::future::ready(!piece.as_ref().is_ok_and(Bytes::is_empty))))
}

/// Ends the writer's direction of a connection, and reads and drops what still comes until the peer ends its direction,
/// for at most `wait`. A connection that is closed while it has unread bytes is reset, and the peer may lose what was
/// written last.
pub async fn close(connection: &mut (impl AsyncRead + AsyncWrite + Unpin), wait: Duration) {
    // The peer may be gone.
    if connection.shutdown().await.is_ok() {
        let _ = tokio::time::timeout(wait, tokio::io::copy(connection, &mut tokio::io::sink())).await;
    }
}

/// Copies both directions between a caller and an agent until the agent ends its direction; the caller has `wait` to end
/// its own. An agent that no longer reads may still say why: its direction is copied to its end.
///
/// # Errors
/// The agent's direction broke, or the caller is gone.
pub async fn copy(caller: Connection, agent: Connection, wait: Duration) -> io::Result<()> {
    let (mut from_caller, mut to_caller) = tokio::io::split(caller);
    let (mut from_agent, mut to_agent) = tokio::io::split(agent);
    let requests = async {
        let copied = tokio::io::copy(&mut from_caller, &mut to_agent).await;
        let _ = to_agent.shutdown().await;
        if copied.is_err() {
            let _ = tokio::io::copy(&mut from_caller, &mut tokio::io::sink()).await;
        }
    };
    let answers = async {
        tokio::io::copy(&mut from_agent, &mut to_caller).await?;
        to_caller.shutdown().await
    };
    tokio::pin!(requests, answers);
    tokio::select! {
        result = &mut answers => {
            result?;
            let _ = tokio::time::timeout(wait, requests).await;
            Ok(())
        }
        () = &mut requests => answers.await,
    }
}

/// The connection of a reader and a writer.
pub fn join(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Connection {
    Box::new(tokio::io::join(reader, writer))
}

/// A connection that another agent has passed on together with a request; an extension of the request.
#[derive(Clone)]
pub struct Opened(std::sync::Arc<Mutex<Option<Connection>>>);

impl Opened {
    /// A connection for the handler of a request.
    pub fn new(connection: Connection) -> Opened {
        Opened(std::sync::Arc::new(Mutex::new(Some(connection))))
    }
}

/// The connection of a request that its handler takes over.
pub enum Upgrade {
    /// The one that the request came on.
    Own(OnUpgrade),
    /// See [`Opened`].
    Opened(Connection),
}

impl Upgrade {
    /// The connection of a request, if it can be taken over.
    pub fn take(extensions: &mut Extensions) -> Option<Upgrade> {
        if let Some(opened) = extensions.remove::<Opened>() {
            return opened.0.lock().take().map(Upgrade::Opened);
        }
        extensions.remove::<OnUpgrade>().map(Upgrade::Own)
    }

    /// The connection, once the answer with status 101 has been sent.
    ///
    /// # Errors
    /// It broke before.
    pub async fn connection(self) -> Result<Connection, hyper::Error> {
        match self {
            Upgrade::Own(upgrade) => Ok(Box::new(TokioIo::new(upgrade.await?))),
            Upgrade::Opened(connection) => Ok(connection),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn bytes_arrive_in_order_and_the_end_is_seen() {
        let (mut writer, body) = writer();
        let mut reader = reader(body);
        let sent = async {
            for n in 0..100u32 {
                writer.write_all(&n.to_be_bytes().repeat(1000)).await.expect("written");
            }
            writer.shutdown().await.expect("shut down");
        };
        let mut read = Vec::new();
        let (_, result) = tokio::join!(sent, reader.read_to_end(&mut read));
        result.expect("read");
        let want: Vec<u8> = (0..100u32).flat_map(|n| n.to_be_bytes().repeat(1000)).collect();
        assert_eq!(read, want);
    }

    #[tokio::test]
    async fn who_does_not_read_stops_who_writes() {
        let (mut writer, body) = writer();
        let flood = async { while writer.write_all(&[0; 1024]).await.is_ok() {} };
        assert!(tokio::time::timeout(std::time::Duration::from_millis(50), flood).await.is_err());
        drop(body);
        assert!(writer.write_all(&[0; 1024]).await.is_err(), "nobody reads any more");
    }

    #[tokio::test]
    async fn the_last_words_of_an_agent_reach_a_caller_that_still_sends() {
        let (mut user, caller) = tokio::io::duplex(64);
        let (agent_writes, answer) = writer();
        let (request_writes, request) = writer();
        let copied = tokio::spawn(copy(Box::new(caller), join(reader(answer), request_writes), Duration::from_secs(5)));
        // The agent no longer reads.
        drop(request);
        user.write_all(&[1; 1024]).await.expect("read and dropped");
        let mut agent_writes = agent_writes;
        agent_writes.write_all(b"denied").await.expect("written");
        agent_writes.shutdown().await.expect("shut down");
        let mut said = Vec::new();
        user.read_to_end(&mut said).await.expect("read");
        assert_eq!(said, b"denied");
        drop(user);
        copied.await.expect("an end").expect("no error");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_never_ends_is_not_awaited() {
        let (_user, caller) = tokio::io::duplex(64);
        let (agent_writes, answer) = writer();
        let (request_writes, _request) = writer();
        drop(agent_writes);
        let agent = join(reader(answer), request_writes);
        copy(Box::new(caller), agent, Duration::from_secs(5)).await.expect("no error");
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_an_error() {
        let pieces = [Ok(Bytes::from_static(b"ab")), Ok(Bytes::new()), Err(io::Error::other("broken"))];
        let mut read = Vec::new();
        let result = reader(Body::from_stream(stream::iter(pieces))).read_to_end(&mut read).await;
        assert_eq!((result.map_err(|_| ()), read.as_slice()), (Err(()), &b"ab"[..]));
    }
}
