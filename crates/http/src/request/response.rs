//! Responses and their encoding (`docs/spec/http-api.md §1.4, §1.5`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use futures_util::{StreamExt, stream};
use serde::Serialize;

use crate::access::authorization::Authorization;
use crate::error::Error;
use crate::request::json;
use crate::serve::encode;
use crate::serve::encode::Encoding;

/// The facts about the state that was read, for the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// `X-Nomad-Index`.
    pub index: u64,
    /// `X-Nomad-KnownLeader`.
    pub known_leader: bool,
    /// `X-Nomad-LastContact`, in milliseconds.
    pub last_contact: u64,
}

/// The body of an answer.
#[derive(Debug)]
pub enum Payload {
    /// Nothing.
    Empty,
    /// JSON, compact.
    Json(Vec<u8>),
    /// Anything else.
    Bytes(Vec<u8>),
    /// A body that is streamed.
    Stream(Body),
    /// The whole answer of another agent, as it came.
    Passed(Box<axum::response::Response>),
    /// As [`Payload::Stream`], never compressed or chunked: the connection ends with it.
    Raw(Body),
}

/// An answer.
#[derive(Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// Headers besides those that follow from the body.
    pub headers: HeaderMap,
    /// The body.
    pub payload: Payload,
}

impl Response {
    fn new(payload: Payload) -> Response {
        Response { status: StatusCode::OK, headers: HeaderMap::new(), payload }
    }

    /// 200 without a body.
    pub fn empty() -> Response {
        Response::new(Payload::Empty)
    }

    /// 200 with JSON.
    ///
    /// # Errors
    /// The value has no JSON form.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Response, Error> {
        let text = json::to_bytes(value).map_err(|e| Error::internal(e.to_string()))?;
        Ok(Response::new(Payload::Json(text)).header(header::CONTENT_TYPE, "application/json"))
    }

    /// 200 with bytes.
    pub fn bytes(content_type: &str, bytes: impl Into<Vec<u8>>) -> Response {
        Response::new(Payload::Bytes(bytes.into())).header(header::CONTENT_TYPE, content_type)
    }

    /// 200 with a stream.
    pub fn stream(content_type: &str, body: Body) -> Response {
        Response::new(Payload::Stream(body)).header(header::CONTENT_TYPE, content_type)
    }

    /// 200 with a stream that takes the connection over.
    pub fn raw(content_type: &str, body: Body) -> Response {
        let response = Response::new(Payload::Raw(body)).header(header::CONTENT_TYPE, content_type);
        response.header(header::CONNECTION, "close")
    }

    /// The answer of another agent.
    pub(crate) fn passed(response: axum::response::Response) -> Response {
        let status = response.status();
        Response { status, headers: HeaderMap::new(), payload: Payload::Passed(Box::new(response)) }
    }

    /// With a header. A value that can't stand in a header is left out.
    pub fn header(mut self, name: impl Into<HeaderName>, value: &str) -> Response {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name.into(), value);
        }
        self
    }

    /// With another status.
    pub fn status(mut self, status: u16) -> Response {
        self.status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        self
    }

    /// With the index of a write.
    pub fn index(self, index: u64) -> Response {
        self.header(HeaderName::from_static("x-nomad-index"), &index.to_string())
    }

    /// With the headers of a read.
    pub fn meta(self, meta: &Meta) -> Response {
        self.index(meta.index)
            .header(HeaderName::from_static("x-nomad-knownleader"), if meta.known_leader { "true" } else { "false" })
            .header(HeaderName::from_static("x-nomad-lastcontact"), &meta.last_contact.to_string())
    }

    /// With the token of the next page, if there is one.
    pub fn next_token(self, token: Option<&str>) -> Response {
        match token {
            Some(t) => self.header(HeaderName::from_static("x-nomad-nexttoken"), t),
            None => self,
        }
    }

    /// Ends a streamed body as soon as the caller may not see it any more. A body that has an end of its own breaks off,
    /// so that nobody takes it for complete.
    pub(crate) fn while_authorized(mut self, authorization: Arc<Authorization>) -> Response {
        self.payload = match self.payload {
            Payload::Raw(body) => {
                let revoked = async move { authorization.revoked().await };
                Payload::Raw(Body::from_stream(body.into_data_stream().take_until(Box::pin(revoked))))
            }
            Payload::Stream(body) => Payload::Stream(until_revoked(body, authorization)),
            Payload::Passed(response) => {
                Payload::Passed(Box::new(response.map(|body| until_revoked(body, authorization))))
            }
            whole @ (Payload::Empty | Payload::Json(_) | Payload::Bytes(_)) => whole,
        };
        self
    }

    /// The answer to an error.
    pub fn error(e: Error) -> Response {
        let response = Response::bytes("text/plain; charset=utf-8", e.message).status(e.status);
        match e.meta {
            Some(meta) => response.meta(&meta),
            None => response,
        }
    }

    /// As it goes over the wire.
    pub fn finish(mut self, pretty: bool, encoding: Option<Encoding>) -> axum::response::Response {
        if let Payload::Passed(mut response) = self.payload {
            response.headers_mut().extend(self.headers);
            return *response;
        }
        let vary = HeaderValue::from_static("Accept-Encoding");
        self.headers.append(header::VARY, vary);
        let encoding = encoding.filter(|_| !matches!(self.payload, Payload::Raw(_)));
        if let Some(e) = encoding {
            self.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(e.name()));
        }
        let raw = matches!(self.payload, Payload::Raw(_));
        let whole = |bytes: Vec<u8>| match encoding {
            Some(e) => Body::from(encode::whole(e, &bytes)),
            None => Body::from(bytes),
        };
        let body = match self.payload {
            Payload::Empty => whole(Vec::new()),
            Payload::Json(text) if pretty => whole(json::indent(&text)),
            Payload::Json(bytes) | Payload::Bytes(bytes) => whole(bytes),
            Payload::Stream(body) => match encoding {
                Some(e) => encode::stream(e, body),
                None => body,
            },
            Payload::Raw(body) => body,
            Payload::Passed(response) => response.into_body(),
        };
        let mut response = axum::response::Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        if raw {
            // Answers of this version end with the connection instead of being cut into chunks.
            *response.version_mut() = axum::http::Version::HTTP_10;
        }
        response
    }
}

/// A body that breaks off when the caller may not see it any more.
fn until_revoked(body: Body, authorization: Arc<Authorization>) -> Body {
    let lost = Arc::new(AtomicBool::new(false));
    let mark = lost.clone();
    let revoked = async move {
        authorization.revoked().await;
        mark.store(true, Ordering::Relaxed);
    };
    let broken = stream::once(async move { lost.load(Ordering::Relaxed) })
        .filter_map(|lost| async move { lost.then(|| Err(axum::Error::new(Error::denied()))) });
    Body::from_stream(body.into_data_stream().take_until(Box::pin(revoked)).chain(broken))
}
