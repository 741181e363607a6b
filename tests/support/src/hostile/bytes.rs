//! Bytes that are no text, and odd encodings.

use super::Kind::{self, Hcl, Json};
use super::Outcome::{self, Either, Refused};
use super::{fill, job};

pub(super) fn add(size: usize, add: &mut dyn FnMut(&'static str, Kind, Outcome, Vec<u8>)) {
    let around = |middle: &[u8]| [b"job \"x\" { name = \"", middle, b"\" }"].concat();
    for kind in [Hcl, Json] {
        let name = |hcl, json| if kind == Hcl { hcl } else { json };
        add(name("zero-bytes", "json-zero-bytes"), kind, Refused, vec![0; size]);
        add(name("high-bytes", "json-high-bytes"), kind, Refused, vec![0xff; size]);
        add(name("byte-order-marks", "json-byte-order-marks"), kind, Refused, "\u{feff}".repeat(size / 3).into_bytes());
        add(name("carriage-returns", "json-carriage-returns"), kind, Refused, vec![b'\r'; size]);
        add(name("blank", "json-blank"), kind, Refused, vec![b' '; size]);
        add(name("empty", "json-empty"), kind, Refused, Vec::new());
    }
    add("byte-order-mark", Hcl, Either, [b"\xef\xbb\xbf", job("").as_bytes()].concat());
    add("crlf", Hcl, Either, job(&fill(size, "# x\n")).replace('\n', "\r\n").into_bytes());
    add("zero-in-text", Hcl, Either, around(&[0]));
    add("bad-utf8-in-text", Hcl, Refused, around(&[0xc3, 0x28]));
    add("bad-utf8-at-end", Hcl, Refused, [job(&fill(size, "# x\n")).as_bytes(), b"\xf0\x9f"].concat());
    add("utf16", Hcl, Refused, job(&fill(size / 2, "# x\n")).encode_utf16().flat_map(u16::to_le_bytes).collect());
}
