//! How far the pull of an image is, from the messages of the daemon.

use std::collections::BTreeMap;

use bollard::models::CreateImageInfo;

/// The most layers that are counted.
const MOST: usize = 1000;
/// Bytes of a MiB.
const MIB: f64 = 1048576.0;

/// A layer: bytes that are here, bytes in all, whether it is complete.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Layer {
    here: i64,
    all: i64,
    complete: bool,
}

/// The layers of an image.
#[derive(Debug, Default)]
pub(super) struct Progress {
    layers: BTreeMap<String, Layer>,
}

impl Progress {
    /// Takes over a message.
    pub(super) fn add(&mut self, message: &CreateImageInfo) {
        let Some(id) = message.id.as_ref().filter(|id| !id.is_empty()) else { return };
        if self.layers.len() >= MOST && !self.layers.contains_key(id) {
            return;
        }
        let layer = self.layers.entry(id.clone()).or_default();
        let detail = message.progress_detail.clone().unwrap_or_default();
        match (detail.current, detail.total) {
            (Some(here), Some(all)) if all > 0 => (layer.here, layer.all) = (here, all),
            // A step that has no size follows those that have one.
            _ => layer.complete = layer.all > 0 || layer.complete,
        }
        if layer.complete {
            layer.here = layer.all;
        }
    }

    /// The progress in words; empty if there is none to tell of.
    pub(super) fn text(&self) -> String {
        if self.layers.is_empty() {
            return String::new();
        }
        let complete = self.layers.values().filter(|l| l.complete).count();
        let sum = |of: fn(&Layer) -> i64| self.layers.values().map(of).fold(0i64, i64::saturating_add) as f64 / MIB;
        let (here, all) = (sum(|l| l.here), sum(|l| l.all));
        format!("{complete} of {} layers, {here:.1} of {all:.1} MiB", self.layers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bollard::models::ProgressDetail;

    #[test]
    fn layers_are_counted() {
        let mut progress = Progress::default();
        let mut add = |id: &str, detail: Option<(i64, i64)>| {
            let progress_detail = detail.map(|(c, t)| ProgressDetail { current: Some(c), total: Some(t) });
            progress.add(&CreateImageInfo { id: Some(id.into()), progress_detail, ..CreateImageInfo::default() });
            progress.text()
        };
        assert_eq!(add("", None), "");
        assert_eq!(add("a", Some((1 << 20, 4 << 20))), "0 of 1 layers, 1.0 of 4.0 MiB");
        assert_eq!(add("b", Some((0, 2 << 20))), "0 of 2 layers, 1.0 of 6.0 MiB");
        assert_eq!(add("a", None), "1 of 2 layers, 4.0 of 6.0 MiB");
    }
}
