//! Snapshots of the store: a sequence of records with an end marker (`docs/spec/server.md §22`). The format is specific
//! to encamp and versioned: version 1 holds the records one after the other, version 2 holds most of them in compressed
//! parts, which several threads write and read.
//!
//! - `write`: from a store to bytes; `read`: back. `records`: reads the records of either version in their order.
//! - `record`: one record. `parts`: some records as compressed bytes. `redact`: a copy without secrets.

mod parts;
mod read;
mod record;
mod records;
mod redact;
mod write;

pub use read::read;
pub use redact::redact;
pub use write::write;

use std::io::{self, Read};

use self::record::Record;
use encamp_ops::codec;

/// A record of a snapshot, as [`visit`] finds it.
pub struct Found<'a> {
    /// The table, as `operator snapshot state` names it.
    pub table: &'static str,
    /// The type, as `operator snapshot inspect` names it.
    pub kind: &'static str,
    /// Its length in bytes.
    pub bytes: u64,
    record: &'a Record,
}

/// Objects as JSON, by table.
pub type Tables = std::collections::BTreeMap<&'static str, Vec<serde_json::Value>>;

impl Found<'_> {
    /// Adds the object to its table.
    ///
    /// # Errors
    /// It holds a number that JSON has no form for.
    pub fn add_to(&self, tables: &mut Tables) -> serde_json::Result<()> {
        tables.entry(self.table).or_default().push(self.object()?);
        Ok(())
    }

    /// The object as JSON.
    ///
    /// # Errors
    /// It holds a number that JSON has no form for.
    pub fn object(&self) -> serde_json::Result<serde_json::Value> {
        // The record's own form has the name of the variant around the object.
        match serde_json::to_value(self.record)? {
            serde_json::Value::Object(of_one) => {
                Ok(of_one.into_iter().next().map_or(serde_json::Value::Null, |(_, v)| v))
            }
            other => Ok(other),
        }
    }
}

/// Reads a snapshot without a store: each record is shown as it is stored.
///
/// # Errors
/// It is no snapshot of this version, it is damaged, or `each` fails.
pub fn visit(from: &mut dyn Read, mut each: impl FnMut(&Found<'_>) -> io::Result<()>) -> io::Result<()> {
    records::each(from, |record, bytes| match record.names() {
        Some((table, kind)) => each(&Found { table, kind, bytes, record: &record }),
        None => Ok(()),
    })
}

/// Whether bytes begin as a snapshot of this program, of whatever version.
pub fn is_snapshot(mut start: &[u8]) -> bool {
    matches!(codec::decode_from::<Record>(&mut start), Ok(Record::Header { .. }))
}
