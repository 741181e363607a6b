//! Answers clients that shut down their side of a connection after sending a request.
//!
//! On the wire, the end of a client's data looks the same whether the client still reads or has closed the connection.
//! It is held back while the client waits for a response, but not for long: a closed client must not occupy a
//! connection, and its request need not continue. Of several pipelined requests, the first is sure to be answered.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::task::AtomicWaker;
use hyper::body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::io::ReadBuf;
use tokio::time::{Instant, Sleep, sleep};

/// How long a client that sends nothing more is still answered.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the body of a request may take from the socket to who reads it; after that it ended too early.
const DELIVERY: Duration = Duration::from_secs(1);

/// Whether client or server has the turn on a connection. Clones share the connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Turn(Arc<State>);

#[derive(Debug, Default)]
struct State {
    phase: Mutex<Phase>,
    /// The task that waits for the client's turn.
    waiting: AtomicWaker,
}

/// How far request and answer are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing was asked.
    #[default]
    Idle,
    /// Something came: it may be all that is to come.
    Begun,
    /// The body of a request is still coming.
    Asking,
    /// The answer is made and sent.
    Answering,
    /// The connection is not one of requests and answers any more.
    Free,
}

impl Turn {
    /// The end of our turn, when it is dropped.
    pub(crate) fn ours(&self) -> Ours {
        Ours(self.clone())
    }

    /// The body of a request: our turn begins when it was read.
    pub(crate) fn asked(&self, body: Body) -> Body {
        if body.is_end_stream() {
            self.pass(|_| Phase::Answering);
            return body;
        }
        self.pass(|_| Phase::Asking);
        Body::new(Asked { body, turn: self.clone() })
    }

    /// From now on it is nobody's turn.
    pub(crate) fn free(&self) {
        self.pass(|_| Phase::Free);
    }

    /// Whether a request has begun and its head is not complete.
    pub(crate) fn begun(&self) -> bool {
        *self.0.phase.lock() == Phase::Begun
    }

    /// Something came.
    fn heard(&self) {
        self.pass(|phase| if phase == Phase::Idle { Phase::Begun } else { phase });
    }

    fn pass(&self, next: impl FnOnce(Phase) -> Phase) {
        let mut phase = self.0.phase.lock();
        *phase = next(*phase);
        drop(phase);
        self.0.waiting.wake();
    }

    /// How long after the client's end that end is held back.
    fn patience(&self) -> Duration {
        match *self.0.phase.lock() {
            Phase::Idle | Phase::Free => Duration::ZERO,
            Phase::Asking => DELIVERY,
            Phase::Begun | Phase::Answering => PATIENCE,
        }
    }
}

/// Our turn.
pub(super) struct Ours(Turn);

impl Ours {
    /// The body of the answer: our turn ends with it.
    pub(crate) fn until_sent(self, body: Body) -> Body {
        Body::new(Answer { body, _ours: self })
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.0.pass(|phase| if phase == Phase::Free { Phase::Free } else { Phase::Idle });
    }
}

struct Asked {
    body: Body,
    turn: Turn,
}

impl hyper::body::Body for Asked {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.turn.pass(|_| Phase::Answering);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

struct Answer {
    body: Body,
    _ours: Ours,
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The end of what a client sends, held back while it waits for its answer.
pub(super) struct Closing {
    turn: Turn,
    /// When the client ended, once it did.
    ended: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Closing {
    pub(crate) fn new(turn: Turn) -> Closing {
        Closing { turn, ended: None }
    }

    /// Reads by `read`; an end is reported when it is the client's turn, or after a while.
    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        read: impl FnOnce(&mut Context<'_>, &mut ReadBuf<'_>) -> Poll<io::Result<()>>,
    ) -> Poll<io::Result<()>> {
        if self.ended.is_none() {
            let before = buf.filled().len();
            ready!(read(cx, buf))?;
            if buf.filled().len() > before || buf.remaining() == 0 {
                self.turn.heard();
                return Poll::Ready(Ok(()));
            }
        }
        let (since, sleeping) = self.ended.get_or_insert_with(|| (Instant::now(), Box::pin(sleep(PATIENCE))));
        // Register first: the turn may change hands while it is checked.
        self.turn.0.waiting.register(cx.waker());
        let until = *since + self.turn.patience();
        if until <= Instant::now() {
            return Poll::Ready(Ok(()));
        }
        sleeping.as_mut().reset(until);
        sleeping.as_mut().poll(cx).map(Ok)
    }
}
