//! The connection to a plugin.

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::Uri;
use tonic::{Response, Status};

use crate::error::{CallError, ErrorKind};
use crate::proto::controller_client::ControllerClient;
use crate::proto::identity_client::IdentityClient;
use crate::proto::node_client::NodeClient;
use crate::redact::Redactor;
use crate::transport::{Failure, Transport};

/// Bounds of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long connecting may take.
    pub connect: Duration,
    /// The deadline of calls that only ask, such as `Probe` and `NodeGetInfo`.
    pub question: Duration,
    /// The deadline of calls that change volumes, and of each page of a list.
    pub operation: Duration,
    /// The longest message of a plugin in bytes.
    pub message: usize,
    /// The most entries of a list over all pages.
    pub entries: usize,
}

impl Default for Limits {
    /// 2 s, 10 s, 2 min, 4 MiB, 100,000 entries.
    fn default() -> Limits {
        Limits {
            connect: Duration::from_secs(2),
            question: Duration::from_secs(10),
            operation: Duration::from_secs(120),
            message: 4 << 20,
            entries: 100_000,
        }
    }
}

/// A plugin that listens on a Unix socket. Clones share the connection.
///
/// A call connects if there is no connection; after the plugin restarted, the next call connects again. Each call ends
/// at its deadline ([`Limits`]), which includes connecting.
#[derive(Clone)]
pub struct Plugin {
    transport: Transport,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plugin").field(&self.socket()).finish()
    }
}

/// One call: its name, its deadline, and what texts about it must not contain.
pub(crate) struct Call {
    name: &'static str,
    deadline: Duration,
    redactor: Redactor,
}

impl Plugin {
    /// The plugin at a socket; connects at the first call.
    pub fn new(socket: impl Into<PathBuf>, limits: Limits) -> Plugin {
        Plugin { transport: Transport::new(socket.into(), limits) }
    }

    /// The path of the socket.
    pub fn socket(&self) -> &Path {
        self.transport.path()
    }

    pub(crate) fn limits(&self) -> &Limits {
        self.transport.limits()
    }

    /// A call that only asks.
    pub(crate) fn question(&self, name: &'static str) -> Call {
        Call { name, deadline: self.limits().question, redactor: Redactor::default() }
    }

    /// A call that changes something.
    pub(crate) fn operation(&self, name: &'static str, redactor: Redactor) -> Call {
        Call { name, deadline: self.limits().operation, redactor }
    }

    pub(crate) fn identity(&self) -> IdentityClient<Transport> {
        let client = IdentityClient::with_origin(self.transport.clone(), origin());
        client.max_decoding_message_size(self.limits().message)
    }

    pub(crate) fn controller(&self) -> ControllerClient<Transport> {
        let client = ControllerClient::with_origin(self.transport.clone(), origin());
        client.max_decoding_message_size(self.limits().message)
    }

    pub(crate) fn node(&self) -> NodeClient<Transport> {
        let client = NodeClient::with_origin(self.transport.clone(), origin());
        client.max_decoding_message_size(self.limits().message)
    }

    /// Waits for the answer of a call until its deadline.
    pub(crate) async fn answer<R>(
        &self,
        call: &Call,
        answer: impl Future<Output = Result<Response<R>, Status>>,
    ) -> Result<R, CallError> {
        match tokio::time::timeout(call.deadline, answer).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(call.failed(&status)),
            Err(_) => {
                // A connection that hangs must not delay the next call.
                self.transport.reconnect();
                let text = format!("no answer within {:?}", call.deadline);
                Err(call.error(ErrorKind::Timeout, &text))
            }
        }
    }
}

/// Plugins do not look at the host of a call, but HTTP/2 requires one.
fn origin() -> Uri {
    Uri::from_static("http://localhost")
}

impl Call {
    /// The request of a message; tells the plugin the deadline.
    pub(crate) fn request<M>(&self, message: M) -> tonic::Request<M> {
        let mut request = tonic::Request::new(message);
        request.set_timeout(self.deadline);
        request
    }

    /// A text of the plugin, bounded and without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        self.redactor.clean(text)
    }

    pub(crate) fn error(&self, kind: ErrorKind, text: &str) -> CallError {
        CallError { call: self.name, kind, message: self.text(text) }
    }

    /// The answer breaks the protocol.
    pub(crate) fn violation(&self, text: &str) -> CallError {
        self.error(ErrorKind::ProtocolViolation, text)
    }

    fn failed(&self, status: &Status) -> CallError {
        let source = std::error::Error::source(status);
        match source.and_then(|e| e.downcast_ref::<Failure>()) {
            Some(Failure::Refused(code, text)) => self.error(ErrorKind::of(*code), text),
            Some(Failure::Unreachable(text)) => self.error(ErrorKind::Unavailable, text),
            Some(Failure::Interrupted(text)) => self.error(ErrorKind::Interrupted, text),
            Some(Failure::Violation(text)) => self.violation(text),
            Some(path @ Failure::Path(..)) => self.error(ErrorKind::InvalidArgument, &path.to_string()),
            // All that is left for the client to find: the message can't be decoded.
            None => self.violation(status.message()),
        }
    }
}
