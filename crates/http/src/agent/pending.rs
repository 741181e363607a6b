//! What the traits of the agent give: values that are pending, and bytes that come one after another.

use std::future::Future;
use std::pin::Pin;

use axum::body::Bytes;
use futures_util::stream::BoxStream;

use crate::error::Error;

/// A pending answer of something behind a trait.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// Bytes as they come.
pub type ByteStream = BoxStream<'static, Result<Bytes, Error>>;
