//! Answers that are sent twice, which services can't express: a layer repeats the bytes of the marked ones.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Frame;
use tonic::body::Body;
use tower::util::MapResponseLayer;

/// Marks an answer.
pub(crate) const HEADER: &str = "x-answer-twice";

type Repeat = fn(Response<Body>) -> Response<Body>;

/// The layer.
pub(crate) fn layer() -> MapResponseLayer<Repeat> {
    MapResponseLayer::new(repeat as Repeat)
}

fn repeat(response: Response<Body>) -> Response<Body> {
    if !response.headers().contains_key(HEADER) {
        return response;
    }
    response.map(|body| {
        Body::new(
            body.map_frame(|frame: Frame<Bytes>| frame.map_data(|data| Bytes::from([&data[..], &data[..]].concat()))),
        )
    })
}
