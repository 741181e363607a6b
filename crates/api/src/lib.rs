//! The typed HTTP client, for this API and for compatible clusters (`docs/spec/http-api.md`).
//!
//! - [`Config`]: address, region, namespace, token and TLS, from flags and environment.
//! - [`Client`]: requests with compression, pages and blocking reads. [`Query`]: parameters of a read; [`Meta`]: its
//!   response headers.
//! - [`reads`], [`writes`], [`operations`], [`objects`], [`variables`], [`acl`]: typed endpoints. [`types`]: responses
//!   that only clients have a type for.
//! - [`stream`]: streamed responses, and raw requests. [`exec`]: commands that run in tasks.
//! - [`members`]: the servers in the list of members.
//! - [`json`]: JSON with errors that have a path. [`Received`]: objects that are printed as they came.
//! - `retry`: which requests are retried, and when; `attempts`, `servers`: to which address.
//! - [`ApiError`]: errors, with status and body. [`ConfigError`] with [`TlsError`], [`RequestError`], [`AnswerError`]:
//!   errors before and after the exchange.
//!
//! The client follows nothing in a response except redirects, and keeps tokens out of errors.
//!
//! **May use** `encamp_model`. **Never** holds rules: what servers accept and do.

#![warn(missing_docs)]

pub mod acl;
mod attempts;
mod client;
mod config;
mod error;
pub mod exec;
pub mod json;
pub mod members;
pub mod objects;
pub mod operations;
mod outcome;
pub mod reads;
mod received;
mod retry;
mod servers;
pub mod stream;
mod tls;
pub mod types;
pub mod variables;
pub mod writes;

pub use acl::OidcCallback;
pub use client::{Client, Meta, Query, path};
pub use config::{Config, Tls};
pub use error::{AnswerError, ApiError, ConfigError, RequestError, TransportFailure};
pub use objects::ApiObject;
pub use received::Received;
pub use tls::TlsError;
