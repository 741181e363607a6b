//! Checks the checksums of a snapshot file whose bytes come one after the other: from another server, before openraft is
//! told of the end (to openraft, a damaged snapshot is fatal), and from a disk that is read slowly.

use encamp_model::capability::CapabilityLevel;

use crate::files;
use crate::snapshots::{END, HEAD, LONGEST_DESCRIPTION, MAGIC, TAIL};

/// What has arrived of a snapshot file.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    /// The head until it is complete; then the last bytes of the file so far.
    held: Vec<u8>,
    /// Where it is.
    part: Part,
    /// Checksum and length of the state so far.
    sum: crc32fast::Hasher,
    len: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Head,
    State,
    /// The head is damaged.
    Broken,
}

impl Arrival {
    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        if self.part == Part::Broken {
            return;
        }
        self.held.extend_from_slice(bytes);
        if self.part == Part::Head {
            self.read_head();
        }
        if self.part == Part::State
            && let Some(more) = self.held.len().checked_sub(TAIL as usize)
        {
            self.sum.update(&self.held[..more]);
            self.len += more as u64;
            self.held.drain(..more);
        }
    }

    /// Whether what has arrived is a whole and intact snapshot.
    pub(crate) fn is_intact(&self) -> bool {
        let mut tail = self.len.to_le_bytes().to_vec();
        tail.extend_from_slice(&self.sum.clone().finalize().to_le_bytes());
        tail.extend_from_slice(END);
        self.part == Part::State && self.held == tail
    }

    /// Passes over the head once it is there.
    fn read_head(&mut self) {
        let start = HEAD as usize;
        let Some(head) = self.held.get(..start) else { return };
        let number = |at: usize| head.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b));
        let (format, described, sum) = (number(8), number(12), number(16));
        if !head.starts_with(MAGIC) || !is_possible(format) || described > LONGEST_DESCRIPTION {
            self.part = Part::Broken;
            return;
        }
        let end = start + described as usize;
        let Some(description) = self.held.get(start..end) else { return };
        self.part = if crc32fast::hash(description) == sum { Part::State } else { Part::Broken };
        self.held.drain(..end);
    }
}

/// Whether a build may have written this format. The number is not under a checksum; no build is far ahead of its cluster.
fn is_possible(format: u32) -> bool {
    let highest = files::format_of(CapabilityLevel::BUILD).saturating_add(2);
    (files::format_of(CapabilityLevel::FIRST)..=highest).contains(&format)
}
