//! A node agent with pretended servers, end to end: real processes, real files, bounded waits.

mod client_support;
