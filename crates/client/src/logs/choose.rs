//! Chooses the log file and the offset to read from (`docs/spec/client.md §26.1`).

use std::collections::BTreeMap;

/// File and position to begin at; `files`: sizes by number. `None` without files.
/// From the end, `offset` counts backwards; 0 there means the beginning of the last file, as in Nomad.
pub fn begin(files: &BTreeMap<u64, u64>, from_end: bool, offset: u64) -> Option<(u64, u64)> {
    let (last, last_size) = files.last_key_value()?;
    if from_end {
        if offset == 0 {
            return Some((*last, 0));
        }
        let mut left = offset;
        for (n, size) in files.iter().rev() {
            if left <= *size {
                return Some((*n, size - left));
            }
            left -= size;
        }
        return files.first_key_value().map(|(n, _)| (*n, 0));
    }
    let mut left = offset;
    for (n, size) in files {
        if left <= *size {
            return Some((*n, left));
        }
        left -= size;
    }
    Some((*last, *last_size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_over_several_files() {
        let files = BTreeMap::from([(3, 10), (4, 10), (5, 4)]);
        for (from_end, offset, want) in [
            (false, 0, (3, 0)),
            (false, 10, (3, 10)),
            (false, 12, (4, 2)),
            (false, 99, (5, 4)),
            (true, 0, (5, 0)),
            (true, 3, (5, 1)),
            (true, 5, (4, 9)),
            (true, 99, (3, 0)),
        ] {
            assert_eq!(begin(&files, from_end, offset), Some(want), "{from_end} {offset}");
        }
        assert_eq!(begin(&BTreeMap::new(), false, 0), None);
    }
}
