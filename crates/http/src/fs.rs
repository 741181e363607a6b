//! Files and logs of allocations (`docs/spec/http-api.md §6.1-6.3`).

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use futures_util::{StreamExt, stream};

use super::client::of_alloc;
use super::error::Error;
use super::local::{ByteStream, Frames, LogsRequest, Origin, StreamFrame, StreamRequest};
use super::params::{decimal_int, parse_bool};
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/client/fs/", files)];

const TEXT: &str = "text/plain; charset=utf-8";
const READ: &[&str] = &["read-fs"];

async fn files(request: Request) -> Outcome {
    let rest = request.rest().to_string();
    let (verb, id) = rest.split_once('/').unwrap_or((rest.as_str(), ""));
    let missing = || Error::bad("must provide a valid alloc id");
    match verb {
        "ls" | "stat" | "stream" | "logs" if id.is_empty() => Err(missing()),
        "ls" => list(&request, id).await,
        "stat" => stat(&request, id).await,
        "stream" => follow(&request, id).await,
        "logs" => logs(&request, id).await,
        "cat" | "readat" => {
            let read = if id.is_empty() { Err(missing()) } else { read(&request, id, verb == "readat").await };
            // Errors have status 200 and no content headers.
            read.or_else(|e| Ok(Response::bytes(TEXT, e.message)))
        }
        _ => Err(Error::not_found("Invalid method")),
    }
}

fn path(request: &Request) -> Result<String, Error> {
    match request.query().get("path") {
        "" => Err(Error::bad("must provide a file name")),
        path => Ok(path.into()),
    }
}

async fn list(request: &Request, id: &str) -> Outcome {
    let path = match request.query().get("path") {
        "" => "/",
        path => path,
    };
    Response::json(&of_alloc(request, id, READ)?.list(id, path).await?)
}

async fn stat(request: &Request, id: &str) -> Outcome {
    let path = path(request)?;
    Response::json(&of_alloc(request, id, READ)?.stat(id, &path).await?)
}

async fn read(request: &Request, id: &str, part: bool) -> Outcome {
    let path = path(request)?;
    let number =
        |name: &str, text: &str| decimal_int(text).map_err(|e| Error::internal(format!("error parsing {name}: {e}")));
    let (mut offset, mut limit) = (0, None);
    if part {
        offset = number("offset", request.query().get("offset"))?;
        let text = request.query().get("limit");
        limit = if text.is_empty() { None } else { Some(number("limit", text)?) }.filter(|l| *l > 0);
    }
    let mut bytes: ByteStream = of_alloc(request, id, READ)?.read(id, &path, offset, limit).await?;
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

async fn follow(request: &Request, id: &str) -> Outcome {
    let path = path(request)?;
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
    let origin = origin(request)?;
    let client = of_alloc(request, id, READ)?;
    let frames = client.stream(id, StreamRequest { path, follow, offset, origin }).await?;
    Ok(Response::stream(TEXT, framed(frames)))
}

async fn logs(request: &Request, id: &str) -> Outcome {
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
    let origin = origin(request)?;
    let client = of_alloc(request, id, &["read-logs", "read-fs"])?;
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
