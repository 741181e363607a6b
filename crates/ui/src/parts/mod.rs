//! What pages are made of.
//!
//! - [`time`]: moments and durations. [`state`]: statuses with a colour and a word. [`table`]: lists with columns, pages
//!   and filters. [`form`]: forms of actions. [`meter`]: shares of resources. [`link`]: addresses of objects.

pub(crate) mod form;
pub(crate) mod link;
pub(crate) mod meter;
pub(crate) mod state;
pub(crate) mod table;
pub(crate) mod time;
