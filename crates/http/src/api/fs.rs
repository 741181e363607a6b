//! Files and logs of allocations (`docs/spec/http-api.md §6.1-6.3`).

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use futures_util::{StreamExt, stream};

use super::client::of_alloc;
use crate::agent::local_client::{Frames, LogsRequest, Origin, StreamFrame, StreamRequest};
use crate::agent::pending::ByteStream;
use crate::error::Error;
use crate::request::Request;
use crate::request::params::{decimal_int, parse_bool};
use crate::request::response::{Outcome, Response};

const TEXT: &str = "text/plain; charset=utf-8";

/// What is no operation on files.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::not_found("Invalid method"))
}

/// The allocation that the path names.
fn alloc_id(request: &Request) -> Result<&str, Error> {
    Some(request.id()).filter(|id| !id.is_empty()).ok_or_else(|| Error::bad("must provide a valid alloc id"))
}

fn path(request: &Request) -> Result<String, Error> {
    match request.query().get("path") {
        "" => Err(Error::bad("must provide a file name")),
        path => Ok(path.into()),
    }
}

pub(crate) async fn list(request: Request) -> Outcome {
    let id = alloc_id(&request)?;
    let path = match request.query().get("path") {
        "" => "/",
        path => path,
    };
    Response::json(&of_alloc(&request, id)?.list(id, path).await?)
}

pub(crate) async fn stat(request: Request) -> Outcome {
    let id = alloc_id(&request)?;
    let path = path(&request)?;
    Response::json(&of_alloc(&request, id)?.stat(id, &path).await?)
}

/// A whole file.
pub(crate) async fn cat(request: Request) -> Outcome {
    read(&request, false).await.or_else(shown_error)
}

/// A part of a file.
pub(crate) async fn read_at(request: Request) -> Outcome {
    read(&request, true).await.or_else(shown_error)
}

/// Errors of these calls have status 200 and no content headers.
fn shown_error(e: Error) -> Outcome {
    if e.status == 403 {
        return Err(e);
    }
    Ok(Response::bytes(TEXT, e.message))
}

async fn read(request: &Request, part: bool) -> Outcome {
    let id = alloc_id(request)?;
    let path = path(request)?;
    let number =
        |name: &str, text: &str| decimal_int(text).map_err(|e| Error::internal(format!("error parsing {name}: {e}")));
    let (mut offset, mut limit) = (0, None);
    if part {
        offset = number("offset", request.query().get("offset"))?;
        let text = request.query().get("limit");
        limit = if text.is_empty() { None } else { Some(number("limit", text)?) }.filter(|l| *l > 0);
    }
    let mut bytes: ByteStream = of_alloc(request, id)?.read(id, &path, offset, limit).await?;
    // Where there is no content its headers are missing, too.
    let Some(first) = bytes.next().await.transpose()? else { return Ok(Response::bytes(TEXT, "")) };
    let mut response = Response::stream(TEXT, Body::from_stream(stream::iter([Ok(first)]).chain(bytes)));
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-xss-protection", "1; mode=block"),
        ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox"),
    ] {
        response = response.header(HeaderName::from_static(name), value);
    }
    Ok(response)
}

fn origin(request: &Request) -> Result<Origin, Error> {
    Ok(Origin::parse(request.query().get("origin"))?)
}

/// How many bytes to skip: none, if the number is negative.
fn skipped(offset: i64) -> u64 {
    u64::try_from(offset).unwrap_or(0)
}

pub(crate) async fn follow(request: Request) -> Outcome {
    let id = alloc_id(&request)?;
    let path = path(&request)?;
    let query = request.query();
    let follow = match query.get("follow") {
        "" => true,
        text => {
            parse_bool(text).map_err(|e| Error::internal(format!("failed to parse follow field to boolean: {e}")))?
        }
    };
    let offset = match query.get("offset") {
        "" => 0,
        text => skipped(decimal_int(text).map_err(|e| Error::internal(format!("error parsing offset: {e}")))?),
    };
    let origin = origin(&request)?;
    let client = of_alloc(&request, id)?;
    let frames = client.stream(id, StreamRequest { path, follow, offset, origin }).await?;
    Ok(Response::stream(TEXT, framed(frames)))
}

pub(crate) async fn logs(request: Request) -> Outcome {
    let id = alloc_id(&request)?;
    let query = request.query();
    let task = query.get("task").to_string();
    if task.is_empty() {
        return Err(Error::bad("must provide task name"));
    }
    let flag = |name: &str| match query.get(name) {
        "" => Ok(false),
        text => parse_bool(text).map_err(|e| Error::bad(format!("failed to parse {name} field to boolean: {e}"))),
    };
    let (follow, plain) = (flag("follow")?, flag("plain")?);
    let kind = match query.get("type") {
        kind @ ("stdout" | "stderr") => kind.to_string(),
        _ => return Err(Error::bad("must provide log type (stdout/stderr)")),
    };
    let offset = match query.get("offset") {
        "" => 0,
        text => skipped(decimal_int(text).map_err(|e| Error::bad(format!("error parsing offset: {e}")))?),
    };
    let origin = origin(&request)?;
    let client = of_alloc(&request, id)?;
    let frames = client.logs(id, LogsRequest { task, kind, follow, offset, origin }).await?;
    Ok(match plain {
        true => Response::stream("text/plain", unframed(frames)),
        false => Response::stream("application/json", framed(frames)),
    })
}

/// A frame as JSON.
fn shown(frame: &StreamFrame) -> Bytes {
    // A frame always has a JSON form.
    Bytes::from(serde_json::to_vec(frame).unwrap_or_default())
}

/// Frames as JSON. The status is out when something fails: the body just ends.
fn framed(frames: Frames) -> Body {
    Body::from_stream(ended(frames).map(|frame| Ok::<_, std::convert::Infallible>(shown(&frame))))
}

/// Frames as the bytes they carry.
fn unframed(frames: Frames) -> Body {
    let bytes = frames.scan(false, |over, frame| {
        let next = match frame {
            _ if *over => None,
            Ok(f) => Some(Bytes::from(f.data.0)),
            Err(e) => {
                *over = true;
                Some(Bytes::from(e.message))
            }
        };
        std::future::ready(next)
    });
    let bytes = bytes.filter(|b| std::future::ready(!b.is_empty()));
    Body::from_stream(bytes.map(Ok::<_, std::convert::Infallible>))
}

fn ended(frames: Frames) -> impl stream::Stream<Item = StreamFrame> + Send {
    frames.scan((), |(), frame| std::future::ready(frame.ok())).boxed()
}
