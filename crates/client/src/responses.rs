//! Responses of the node: stream frames, metadata. Spelled as in the HTTP API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use encamp_model::Bytes;
use encamp_model::json::{is_default, null_is_default};

/// One frame of a stream of file contents; every key is left out when zero, a heartbeat is `{}`
/// (`docs/spec/http-api.md §6.2`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StreamFrame {
    /// Bytes of the file; base64 in JSON.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Bytes,
    /// Which file.
    #[serde(skip_serializing_if = "is_default")]
    pub file: String,
    /// `file deleted` or `file truncated`.
    #[serde(skip_serializing_if = "is_default")]
    pub file_event: String,
    /// Position in the file after the data.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: i64,
}

impl StreamFrame {
    /// Whether the frame only says that the stream is alive.
    #[cfg(test)]
    pub(crate) fn is_heartbeat(&self) -> bool {
        is_default(self)
    }
}

/// The `NodeMetaResponse` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeMeta {
    /// The effective metadata of the node.
    pub meta: BTreeMap<String, String>,
    /// The metadata that were set at run time; null: removed.
    pub dynamic: BTreeMap<String, Option<String>>,
    /// The metadata of the configuration and the defaults.
    pub r#static: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_zeroes_out() {
        let text = |f: &StreamFrame| serde_json::to_string(f).unwrap();
        assert_eq!(text(&StreamFrame::default()), "{}");
        let frame =
            StreamFrame { offset: 4, data: Bytes(b"err\n".to_vec()), file: "a".into(), ..StreamFrame::default() };
        assert_eq!(text(&frame), r#"{"Data":"ZXJyCg==","File":"a","Offset":4}"#);
        assert!(StreamFrame::default().is_heartbeat() && !frame.is_heartbeat());
    }
}
