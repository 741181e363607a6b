//! Ends streamed responses whose caller has lost the right to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use futures_util::{StreamExt, stream};

use crate::access::authorization::Authorization;
use crate::error::Error;
use crate::request::response::{Payload, Response};

/// Ends a streamed body as soon as the caller may not see it any more. A body that has an end of its own breaks off, so
/// that no client takes it for complete.
pub(super) fn while_authorized(mut response: Response, authorization: Arc<Authorization>) -> Response {
    response.payload = match response.payload {
        Payload::Raw(body) => {
            let revoked = async move { authorization.revoked().await };
            Payload::Raw(Body::from_stream(body.into_data_stream().take_until(Box::pin(revoked))))
        }
        Payload::Stream(body) => Payload::Stream(until_revoked(body, authorization)),
        Payload::Passed(passed) => Payload::Passed(Box::new(passed.map(|body| until_revoked(body, authorization)))),
        whole @ (Payload::Empty | Payload::Json(_) | Payload::Bytes(_)) => whole,
    };
    response
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
