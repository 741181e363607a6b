//! Connections over the bodies of an HTTP/2 request and its answer, and connections that a request took over.
//!
//! HTTP/2 has no upgrades. Where agents pass on a request that opens a websocket, its bytes are the body of the request
//! in one direction and the body of the answer in the other one. Both sides are bounded: who does not read stops who
//! writes.

use std::convert::Infallible;
use std::io;

use axum::body::{Body, Bytes};
use axum::http::Extensions;
use futures_util::{SinkExt, StreamExt, TryStreamExt, stream};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

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
    async fn a_body_that_breaks_off_is_an_error() {
        let pieces = [Ok(Bytes::from_static(b"ab")), Ok(Bytes::new()), Err(io::Error::other("broken"))];
        let mut read = Vec::new();
        let result = reader(Body::from_stream(stream::iter(pieces))).read_to_end(&mut read).await;
        assert_eq!((result.map_err(|_| ()), read.as_slice()), (Err(()), &b"ab"[..]));
    }
}
