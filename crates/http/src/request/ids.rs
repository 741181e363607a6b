//! IDs and their prefixes in lists and look-ups (`docs/spec/http-api.md §3, §4.7`).

use crate::error::Error;

fn lookup(table: &str, why: &str) -> Error {
    Error::internal(format!("{table} lookup failed: index error: {why}"))
}

/// A full ID, as IDs are written: letters may be upper case, and hyphens anywhere. It may be longer than any ID.
///
/// # Errors
/// 500, for IDs that no row can have. `table` is the singular: `node`.
pub fn full(table: &str, id: &str) -> Result<String, Error> {
    if id.len() == 36 { prefix(table, id) } else { Err(lookup(table, "UUID must be 36 characters")) }
}

/// The prefix of an ID, as IDs are written.
///
/// # Errors
/// 500, for what no ID begins with.
pub fn prefix(table: &str, text: &str) -> Result<String, Error> {
    if text.len() > 36 {
        return Err(lookup(table, &format!("Invalid UUID length. UUID have 36 characters; got {}", text.len())));
    }
    let hyphens = text.matches('-').count();
    if hyphens > 4 {
        return Err(lookup(table, &format!("UUID should have maximum of 4 \"-\"; got {hyphens}")));
    }
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if !digits.chars().count().is_multiple_of(2) {
        return Err(lookup(table, "Input (without hyphens) must be even length"));
    }
    if let Some(c) = digits.chars().find(|c| !c.is_ascii_hexdigit()) {
        return Err(lookup(table, &format!("Invalid UUID: encoding/hex: invalid byte: U+{:04X} '{c}'", c as u32)));
    }
    Ok(spelled(&digits))
}

/// Hex digits with hyphens at their places, in lower case.
pub(crate) fn spelled(digits: &str) -> String {
    let mut out = String::with_capacity(36);
    for (i, c) in digits.chars().enumerate() {
        if matches!(i, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_prefixes() {
        let text = |r: Result<String, Error>| r.unwrap_or_else(|e| e.message);
        let known = "86825d37-5264-effb-1a7c-30be40b9a44c";
        for same in [known, &known.to_uppercase(), "8-6-8-2-5d375264effb1a7c30be40b9a44c"] {
            assert_eq!(text(full("node", same)), known);
        }
        // As many characters as an ID has, but too many digits.
        assert_eq!(text(full("node", &"a".repeat(36))).len(), 40);
        for (id, why) in [
            ("", "UUID must be 36 characters"),
            ("86825d37", "UUID must be 36 characters"),
            ("86825d37-5264-effb-1a7c-30be40b9a44c0", "UUID must be 36 characters"),
            ("86825d37-5264-effb-1a7c-30be40b9a44g", "Invalid UUID: encoding/hex: invalid byte: U+0067 'g'"),
            ("86825d37-5264-effb-1a7c030be40b9a44c", "Input (without hyphens) must be even length"),
            ("86825d37-5264-effb-1a7c-30be40b9a4-c", "UUID should have maximum of 4 \"-\"; got 5"),
        ] {
            assert_eq!(text(full("node", id)), format!("node lookup failed: index error: {why}"), "{id}");
        }
        assert_eq!(text(prefix("node", "86825D3752")), "86825d37-52");
        assert_eq!(text(prefix("node", "ffffffff-0000")), "ffffffff-0000");
        assert_eq!(
            text(prefix("alloc", "xyz")),
            "alloc lookup failed: index error: Input (without hyphens) must be even length"
        );
        assert!(text(prefix("alloc", "xy")).contains("Invalid UUID: "));
        assert!(text(prefix("alloc", &"a".repeat(37))).ends_with("got 37"));
        assert!(text(prefix("alloc", "a-b-c-d-e-f")).ends_with("got 5"));
        assert_eq!(text(prefix("alloc", "")), "");
    }
}
