//! Responses and their encoding (`docs/spec/http-api.md §1.4, §1.5`).

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use super::json;
use crate::error::Error;
pub use crate::read_meta::Meta;
use crate::serve::encode::{self, Encoding};

/// The result of a handler.
pub type Outcome = Result<Response, Error>;

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

    /// 307 to another place; for a GET, with a line of HTML for browsers.
    pub(crate) fn redirect(is_get: bool, to: &str) -> Response {
        let response = if is_get {
            let shown = to.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&#34;");
            Response::bytes("text/html; charset=utf-8", format!("<a href=\"{shown}\">Temporary Redirect</a>.\n\n"))
        } else {
            Response::empty()
        };
        response.status(307).header(header::LOCATION, to)
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
