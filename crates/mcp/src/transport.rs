//! Messages on standard input and output: one JSON object per line. What is no message is answered with an error.

use std::future::{Future, ready};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::thread;

use rmcp::model::{ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, model};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// The longest message, in bytes.
pub const MAX_MESSAGE: usize = 4 << 20;
/// Lines that wait to be read.
const WAITING: usize = 16;

/// A line of the input.
enum Line {
    Whole(Vec<u8>),
    /// It had more than [`MAX_MESSAGE`] bytes.
    TooLong,
}

/// Two streams with messages. Threads read and write them, since standard streams may block.
pub struct Lines {
    lines: mpsc::Receiver<Line>,
    answers: Option<mpsc::UnboundedSender<Vec<u8>>>,
    written: Option<oneshot::Receiver<()>>,
}

impl Lines {
    /// Messages of these streams.
    pub fn new(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Lines {
        let (sender, lines) = mpsc::channel(WAITING);
        thread::spawn(move || read_lines(&mut BufReader::new(input), &sender));
        let (answers, waiting) = mpsc::unbounded_channel();
        let (done, written) = oneshot::channel();
        thread::spawn(move || {
            write_all(output, waiting);
            // Nobody may wait for it any more.
            let _ = done.send(());
        });
        Lines { lines, answers: Some(answers), written: Some(written) }
    }

    fn answer(&self, message: &TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(b'\n');
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.answers.as_ref().ok_or_else(gone)?.send(bytes).map_err(|_| gone())
    }
}

/// Reads lines until the input ends or nobody wants them.
fn read_lines(input: &mut impl BufRead, sender: &mpsc::Sender<Line>) {
    let mut too_long = false;
    loop {
        let mut line = Vec::new();
        let limit = u64::try_from(MAX_MESSAGE).unwrap_or(u64::MAX).saturating_add(1);
        let read = input.by_ref().take(limit).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        let ended = line.last() == Some(&b'\n');
        let sent = match (ended, too_long) {
            // The rest of a line of which the beginning was refused.
            (_, true) => Ok(()),
            (true, false) => sender.blocking_send(Line::Whole(line)),
            (false, false) if line.len() > MAX_MESSAGE => sender.blocking_send(Line::TooLong),
            // The input ended within a line.
            (false, false) => return,
        };
        too_long = !ended;
        if sent.is_err() {
            return;
        }
    }
}

fn write_all(mut output: impl Write, mut waiting: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = waiting.blocking_recv() {
        if output.write_all(&bytes).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// The message of a line; `None` for what needs no answer.
fn message(line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Box<TxJsonRpcMessage<RoleServer>>> {
    let refused = |error: ErrorData, id: Option<RequestId>| Box::new(JsonRpcMessage::error(error, id));
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(line)
        .map_err(|e| refused(ErrorData::parse_error(format!("the message is no JSON: {e}"), None), None))?;
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let is_notification = value.get("method").is_some() && value.get("id").is_none();
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        // Notifications are never answered.
        Err(_) if is_notification => Ok(None),
        Err(_) => {
            let text = "the message is no request of the Model Context Protocol (JSON-RPC 2.0)";
            Err(refused(ErrorData::invalid_request(text, None), id))
        }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        ready(self.answer(&item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let refused = match self.lines.recv().await? {
                Line::Whole(line) => match message(&line) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => continue,
                    Err(refused) => refused,
                },
                Line::TooLong => {
                    let text = format!("the message has more than {MAX_MESSAGE} bytes");
                    Box::new(JsonRpcMessage::error(model::ErrorData::invalid_request(text, None), None))
                }
            };
            self.answer(&refused).ok()?;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.answers.take());
        if let Some(written) = self.written.take() {
            // The thread has ended, one way or the other.
            let _ = written.await;
        }
        Ok(())
    }
}
