//! The body of a request, within the memory that the interface has for bodies (`docs/spec/http-api.md §4`).

use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::header;
use serde::de::DeserializeOwned;

use super::json;
use super::routed_request::Request;
use crate::error::Error;
use crate::serve::bodies::BodyError;
use crate::serve::http1::{Origin, Peer};

/// The largest body that is kept in memory. Nomad has no limit; memory has one.
const MAX_BODY: usize = 32 << 20;
/// How many times larger than its text JSON is in memory, for bodies that matter.
const GROWTH: usize = 4;
/// Bodies up to this length do not matter.
const SMALL: usize = 64 << 10;
/// The most values in a JSON body: in memory each takes many times the room of its text.
const MAX_VALUES: usize = 500_000;

impl Request {
    /// The whole body. The memory reserved for it is returned when the request is answered.
    ///
    /// # Errors
    /// The connection broke, the body is too large or too slow, or others take too much memory.
    pub async fn bytes(&mut self) -> Result<Bytes, Error> {
        let body = self.take_body();
        if self.length().is_some_and(|n| n > MAX_BODY) {
            return Err(unread(BodyError::Long(MAX_BODY)));
        }
        let read = self.app.bodies().read(body, MAX_BODY, self.origin().as_ref()).await;
        let (bytes, held) = read.map_err(unread)?;
        self.held.join(held);
        Ok(bytes)
    }

    /// The length that was announced for the body.
    pub fn length(&self) -> Option<usize> {
        self.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// Where the request comes from; `None` if another agent has passed it on.
    pub(crate) fn origin(&self) -> Option<Origin> {
        self.extensions.get::<ConnectInfo<Peer>>().map(|c| c.0.origin.clone())
    }

    /// The body as it comes.
    pub(crate) fn take_body(&mut self) -> Body {
        self.body.get_mut().take().unwrap_or_default()
    }

    /// Whether a body was announced.
    pub(crate) fn has_body(&self) -> bool {
        match self.headers.get(header::CONTENT_LENGTH) {
            Some(length) => length != "0",
            None => self.headers.contains_key(header::TRANSFER_ENCODING),
        }
    }

    /// A body that shall be JSON, not read yet.
    ///
    /// # Errors
    /// 400: there is none. 413: it is too large, or holds too many values.
    pub(crate) async fn json_bytes(&mut self) -> Result<Bytes, Error> {
        if !self.has_body() {
            return Err(Error::bad("Request body is empty"));
        }
        let bytes = self.bytes().await?;
        if json::holds_more_than(&bytes, MAX_VALUES) {
            return Err(Error::new(413, format!("Request body holds more than {MAX_VALUES} values")));
        }
        if bytes.len() > SMALL {
            let held = self.app.bodies().take(GROWTH * bytes.len(), self.origin().as_ref()).await;
            self.held.join(held.map_err(unread)?);
        }
        Ok(bytes)
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// 400: there is none, or it is something else. 413: it is too large.
    pub async fn json<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        Ok(json::decode(&self.json_bytes().await?)?)
    }
}

/// Why a body was not read, as an answer.
pub(crate) fn unread(e: BodyError) -> Error {
    match e {
        BodyError::Long(limit) => Error::new(413, format!("Request body is larger than {} MiB", limit >> 20)),
        BodyError::Slow => Error::new(408, "Request body arrives too slowly"),
        BodyError::Busy => Error::new(503, "Too many large requests at the same time; try again later"),
        BodyError::Broken => Error::bad("unexpected EOF"),
    }
}
