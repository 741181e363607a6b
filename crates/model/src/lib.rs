//! The objects of a cluster, spelled as in the HTTP API (CamelCase JSON), and their properties that do not depend on
//! policy: status predicates, names, resource arithmetic.
//!
//! - [`job`], [`group`], [`resources`], [`service`]: stored jobs. [`api`]: jobs as clients send them, where every value
//!   may still be null.
//! - [`node`], [`node_revocation`], [`alloc`], [`eval`], [`cluster`], [`volume`], [`acl`], [`variable`], [`identity`], [`records`]: the rest
//!   of the cluster.
//!   [`plan`]: the plans of schedulers. [`requests`], [`responses`], [`stats`]: bodies of requests and responses that are
//!   not stored. [`outcome`]: error texts that state whether a request took effect.
//! - [`gc`]: garbage collection, explained. [`driver_options`]: what the `config` block of a task may set.
//! - [`diff`]: job diffs. [`json`], [`bytes`], [`time`], [`duration`], [`quote`], [`parse_bool`]: values in JSON and in texts.
//!   [`glob`]: patterns with `*`. [`random`]: numbers from a seed. [`token_bucket`]: rate limits. [`secret`]: values that answers must not contain.
//! - [`text`]: texts of objects of which there are millions. [`packed`]: parts of allocations that are kept as bytes.
//!   [`sorted_map`]: maps of few names. [`version`], [`regexp`]: operands of constraints. [`cron`]: launch times of
//!   periodic jobs.
//!
//! **May use** derive. **Never** holds I/O, clocks, policy.

#![warn(missing_docs)]

// `null_is_default` names this crate, in this crate as well.
extern crate self as encamp_model;

pub mod acl;
pub mod alloc;
pub mod api;
pub mod bytes;
pub mod capability;
mod class;
pub mod cluster;
pub mod cron;
pub mod csi;
pub mod csi_claim;
pub mod diff;
pub mod driver_options;
pub mod duration;
pub mod eval;
pub mod gc;
pub mod glob;
pub mod gossip_key;
pub mod group;
mod hash;
pub mod identity;
pub mod job;
mod job_key;
pub mod json;
pub mod migrate;
pub mod modes;
pub mod node;
pub mod node_revocation;
pub mod outcome;
pub mod packed;
mod parse_bool;
pub mod plan;
pub(crate) mod predicates;
pub mod quote;
pub mod random;
mod recent;
pub mod records;
pub mod regexp;
pub mod requests;
pub mod resources;
pub mod responses;
pub mod scores;
pub mod secret;
pub mod service;
pub mod shared;
pub(crate) mod sorted_map;
pub mod stats;
pub mod status;
pub mod text;
mod text_enum;
pub mod time;
pub mod token_bucket;
pub mod variable;
pub mod version;
pub mod volume;

pub use acl::*;
pub use alloc::*;
pub use bytes::Bytes;
pub use cluster::*;
pub use csi::*;
pub use csi_claim::*;
pub use diff::*;
pub use eval::*;
pub use gossip_key::{GossipKey, InvalidGossipKey, KeyChange};
pub use group::*;
pub use identity::*;
pub use job::*;
pub use job_key::JobKey;
pub use migrate::*;
pub use modes::*;
pub use node::*;
pub use node_revocation::*;
pub use packed::*;
pub use parse_bool::parse_bool;
pub use plan::*;
pub use quote::{float_text, quoted, short_id};
pub use records::*;
pub use resources::*;
pub use scores::Scores;
pub use secret::{SecretBytes, SecretString, with_secrets};
pub use service::*;
pub use shared::Shared;
pub use sorted_map::SortedMap;
pub use status::*;
pub use text::{Text, UniqueText};
pub use thin_vec::ThinVec;
pub use time::{HOUR, MINUTE, SECOND, Time, format_duration};
pub use variable::*;
pub use volume::*;
