//! Streamed responses and raw requests (`docs/spec/http-api.md §6`).

use std::time::Duration;

use base64::Engine;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde::Deserialize;
use tokio::time::timeout;

use super::attempts::Attempts;
use super::client::{Call, Client, MAX_ANSWER, MAX_ERROR, Pace, Query, title, url};
use super::error::{AnswerError, ApiError, RequestError};
use super::retry;
use super::servers::Server;

/// The largest frame; servers send at most 64 KiB of data in one.
const MAX_FRAME: usize = 16 << 20;

/// A request that is sent as it is.
#[derive(Debug, Clone, Default)]
pub struct RawRequest {
    /// The method; `GET` if empty.
    pub method: String,
    /// The path.
    pub path: String,
    /// Its parameters.
    pub query: Query,
    /// Headers besides those every request has.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A response whose body is read as a stream.
#[derive(Debug)]
pub struct ByteStream {
    response: Response,
    /// The first chunk of the body, if it was already read.
    begun: Option<Vec<u8>>,
    method: &'static str,
    url: String,
    /// The read timeout between two chunks; `None` if the response may be idle.
    patience: Option<Duration>,
}

impl ByteStream {
    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<String> {
        self.response.headers().get(name).and_then(|v| v.to_str().ok()).map(String::from)
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Status line and headers as text, for people.
    pub fn head(&self) -> Vec<String> {
        let status = self.response.status();
        let first = format!("HTTP/1.1 {} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
        let headers = self.response.headers().iter();
        let headers = headers.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())));
        std::iter::once(first).chain(headers).collect()
    }

    /// The next piece; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        if let Some(begun) = self.begun.take() {
            return Ok(Some(begun));
        }
        let next = self.response.chunk();
        let chunk = match self.patience {
            Some(patience) => {
                timeout(patience, next).await.map_err(|_| ApiError::late(self.method, self.url.clone()))?
            }
            None => next.await,
        };
        let chunk = chunk.map_err(|e| ApiError::transport(self.method, &self.url, &e))?;
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }

    /// The answer as far as errors go. It can still be read.
    async fn look(&mut self) -> Result<ApiError, ApiError> {
        let mut text = Vec::new();
        while let Some(bytes) = self.next().await? {
            text.extend_from_slice(&bytes);
            if text.len() > MAX_ERROR {
                break;
            }
        }
        let body = String::from_utf8_lossy(&text).into_owned();
        self.begun = Some(text).filter(|t| !t.is_empty());
        Ok(ApiError::Status { status: self.status(), body })
    }
}

/// A part of a file, or news about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Frame {
    /// The data in base64.
    data: Option<String>,
    /// The file event: `file deleted`, `file truncated`.
    pub file_event: Option<String>,
}

/// The content of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Data of the file.
    Data(Vec<u8>),
    /// There was nothing to send for a while.
    Silence,
    /// Something happened to the file.
    File(String),
}

/// Frames, one after the other.
#[derive(Debug)]
pub struct FrameStream {
    stream: ByteStream,
    buffer: Vec<u8>,
}

impl FrameStream {
    /// The next event; nothing at the end.
    pub async fn next(&mut self) -> Result<Option<Event>, ApiError> {
        loop {
            if let Some(event) = self.take()? {
                return Ok(Some(event));
            }
            match self.stream.next().await? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None if self.buffer.iter().all(u8::is_ascii_whitespace) => return Ok(None),
                None => return Err(self.broken(AnswerError::CutOff)),
            }
        }
    }

    /// The first event of what has arrived, if all of it has.
    fn take(&mut self) -> Result<Option<Event>, ApiError> {
        match decode(&self.buffer) {
            Ok(Some((event, used))) => {
                self.buffer.drain(..used.min(self.buffer.len()));
                Ok(Some(event))
            }
            Ok(None) if self.buffer.len() > MAX_FRAME => Err(self.broken(AnswerError::LargeFrame)),
            Ok(None) => Ok(None),
            Err(problem) => {
                let received = String::from_utf8_lossy(&self.buffer).trim().to_string();
                Err(self.broken(AnswerError::Frame { problem, received }))
            }
        }
    }

    fn broken(&self, problem: AnswerError) -> ApiError {
        ApiError::Answer { method: self.stream.method, url: self.stream.url.clone(), problem }
    }
}

/// Why a part of a stream is no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// It is not the JSON of a frame.
    #[error("it contains data that is not a frame")]
    NoFrame,
    /// The data is not base64.
    #[error("the data of a frame can't be read")]
    Data,
}

/// The first frame of some bytes, and how long it is. Nothing if it is not complete.
fn decode(bytes: &[u8]) -> Result<Option<(Event, usize)>, FrameError> {
    let mut frames = serde_json::Deserializer::from_slice(bytes).into_iter::<Frame>();
    let frame = match frames.next() {
        None => return Ok(None),
        Some(Err(e)) if e.is_eof() => return Ok(None),
        Some(Err(_)) => return Err(FrameError::NoFrame),
        Some(Ok(frame)) => frame,
    };
    let used = frames.byte_offset();
    let event = match (frame.data, frame.file_event) {
        (Some(data), _) if !data.is_empty() => {
            let decoded = base64::engine::general_purpose::STANDARD.decode(data);
            Event::Data(decoded.map_err(|_| FrameError::Data)?)
        }
        (_, Some(event)) if !event.is_empty() => Event::File(event),
        _ => Event::Silence,
    };
    Ok(Some((event, used)))
}

impl Client {
    /// Sends a request unchanged; the response may have any status, but a status that a retry may change is retried
    /// first. If `idle` is set, the response may send nothing for any length of time.
    pub async fn send(&self, request: &RawRequest, idle: bool) -> Result<ByteStream, ApiError> {
        let name = if request.method.is_empty() { "GET" } else { &request.method };
        let method = Method::from_bytes(name.as_bytes()).map_err(|_| RequestError::Method(name.to_string()))?;
        let call = Call::<()> { method, path: &request.path, query: &request.query, body: None };
        let mut attempts = Attempts::new(self, &call);
        loop {
            let mut stream = match self.send_to(attempts.server(), &call, request, idle).await {
                Ok(stream) => stream,
                Err(error) => {
                    attempts.failed(error.into()).await?;
                    continue;
                }
            };
            if matches!(stream.status(), 500 | 503) {
                let error = stream.look().await?;
                if retry::passes(&error) {
                    match attempts.failed(error.into()).await {
                        Ok(()) => continue,
                        Err(_) => return Ok(stream),
                    }
                }
            }
            attempts.succeeded();
            return Ok(stream);
        }
    }

    async fn send_to(
        &self,
        to: &Server,
        call: &Call<'_, ()>,
        request: &RawRequest,
        idle: bool,
    ) -> Result<ByteStream, ApiError> {
        let (method, url) = (title(&call.method), url(to, call));
        let mut builder = self.request(to, call)?.headers(headers(&request.headers)?);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        let patience = self.config().read_timeout;
        let sent = timeout(patience, builder.send()).await.map_err(|_| ApiError::late(method, url.clone()))?;
        let response = sent.map_err(|e| ApiError::transport(method, &url, &e))?;
        Ok(ByteStream { response, begun: None, method, url, patience: (!idle).then_some(patience) })
    }

    /// The address that a request goes to.
    pub fn url_of(&self, request: &RawRequest) -> Result<String, ApiError> {
        let call = Call::<()> { method: Method::GET, path: &request.path, query: &request.query, body: None };
        let to = self.servers.get(self.servers.current());
        let built = self.request(to, &call)?.build().map_err(RequestError::Build)?;
        Ok(built.url().to_string())
    }

    /// Reads a response chunk by chunk.
    pub async fn stream(&self, path: &str, query: &Query, idle: bool) -> Result<ByteStream, ApiError> {
        let request = RawRequest { path: path.into(), query: query.clone(), ..RawRequest::default() };
        self.accepted(&request, idle).await
    }

    /// Sends a request unchanged; any status other than 200 is an error.
    pub async fn accepted(&self, request: &RawRequest, idle: bool) -> Result<ByteStream, ApiError> {
        let mut stream = self.send(request, idle).await?;
        if stream.status() == 200 { Ok(stream) } else { Err(stream.look().await?) }
    }

    /// Reads an answer that consists of frames.
    pub async fn frames(&self, path: &str, query: &Query) -> Result<FrameStream, ApiError> {
        Ok(FrameStream { stream: self.stream(path, query, false).await?, buffer: Vec::new() })
    }

    /// Reads a whole answer as it is.
    pub async fn bytes(&self, path: &str, query: &Query) -> Result<Vec<u8>, ApiError> {
        let mut stream = self.stream(path, query, false).await?;
        let mut all = Vec::new();
        let mut pace = Pace::new(self.config().read_timeout);
        while let Some(bytes) = stream.next().await? {
            let unreadable = |problem| ApiError::Answer { method: stream.method, url: stream.url.clone(), problem };
            if all.len() + bytes.len() > MAX_ANSWER {
                return Err(unreadable(AnswerError::TooLarge { limit: MAX_ANSWER }));
            }
            pace.arrived(bytes.len()).map_err(unreadable)?;
            all.extend_from_slice(&bytes);
        }
        Ok(all)
    }
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, RequestError> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let bad = || RequestError::Header(name.clone());
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        headers.append(name.clone(), HeaderValue::from_str(value).map_err(|_| bad())?);
    }
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_taken_one_by_one_when_they_are_complete() {
        let bytes = br#"{"Data":"YWI=","Offset":2} {}{"FileEvent":"file deleted"}{"Da"#;
        let (first, used) = decode(bytes).unwrap().unwrap();
        assert_eq!(first, Event::Data(b"ab".to_vec()));
        let (second, more) = decode(&bytes[used..]).unwrap().unwrap();
        assert_eq!(second, Event::Silence);
        let (third, last) = decode(&bytes[used + more..]).unwrap().unwrap();
        assert_eq!(third, Event::File("file deleted".into()));
        assert_eq!(decode(&bytes[used + more + last..]).unwrap(), None);
        assert!(decode(b"Unknown allocation").is_err());
        assert!(decode(br#"{"Data":"*"}"#).is_err());
    }
}
