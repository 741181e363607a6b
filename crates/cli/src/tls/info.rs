//! What a certificate says, as a table.

use std::net::IpAddr;
use std::path::Path;

use jiff::Timestamp;
use thiserror::Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::authority::permitted_domains;
use super::files::{self, FileError};
use crate::render::table::{Form, cell, table};

/// The parts of a name in the order in which they are shown: object identifier and abbreviation.
const PARTS: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.11", "OU"),
    ("2.5.4.10", "O"),
    ("2.5.4.17", "POSTALCODE"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.6", "C"),
];

/// A certificate that cannot be shown.
#[derive(Debug, Error)]
pub(super) enum InfoError {
    /// Its file.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is damaged.
    #[error("{0} contains no valid certificate")]
    Damaged(String),
}

/// The table of an authority.
pub(super) fn of_authority(directory: &Path, file: &str) -> Result<String, InfoError> {
    shown(directory, file, |c| vec![("Permitted DNS Domains", permitted_domains(c).unwrap_or_default())])
}

/// The table of another certificate.
pub(super) fn of_certificate(directory: &Path, file: &str) -> Result<String, InfoError> {
    shown(directory, file, |c| {
        let names = c.subject_alternative_name().ok().flatten().map(|e| e.value.general_names.as_slice());
        let (mut dns, mut addresses) = (Vec::new(), Vec::new());
        for name in names.unwrap_or_default() {
            match name {
                GeneralName::DNSName(name) => dns.push(name.to_string()),
                GeneralName::IPAddress(bytes) => addresses.extend(address(bytes)),
                _ => {}
            }
        }
        vec![("DNS Names", dns), ("IP Addresses", addresses)]
    })
}

fn shown(
    directory: &Path,
    file: &str,
    lists: impl Fn(&X509Certificate<'_>) -> Vec<(&'static str, Vec<String>)>,
) -> Result<String, InfoError> {
    let der = files::certificate(directory, file)?;
    let (_, c) = X509Certificate::from_der(&der).map_err(|_| InfoError::Damaged(file.into()))?;
    let issuer = c.issuer().iter_common_name().next().and_then(|n| n.as_str().ok()).unwrap_or_default();
    let mut rows = vec![
        ("Serial Number", c.serial.to_string()),
        ("Issuer CN", issuer.to_string()),
        ("Common Name", name(c.subject())),
        ("Expiry Date", time(c.validity().not_after.timestamp())),
    ];
    rows.extend(lists(&c).into_iter().map(|(title, list)| (title, format!("[{}]", list.join(" ")))));
    let lines: Vec<String> = rows.iter().map(|(title, value)| format!("{title}|{}", cell(value))).collect();
    Ok(table(&lines, Form::Spaced))
}

fn time(seconds: i64) -> String {
    let time = Timestamp::from_second(seconds);
    time.map_or_else(|_| seconds.to_string(), |t| t.strftime("%Y-%m-%d %H:%M:%S +0000 UTC").to_string())
}

fn address(bytes: &[u8]) -> Option<String> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let address = v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
    address.ok().map(|a| a.to_string())
}

/// A name as text (RFC 2253): its parts in a fixed order, since certificates hold them in any order.
fn name(name: &X509Name<'_>) -> String {
    let place = |kind: &str| PARTS.iter().position(|(oid, _)| *oid == kind).unwrap_or(PARTS.len());
    let mut parts: Vec<(usize, String)> = name
        .iter_attributes()
        .map(|a| {
            let kind = a.attr_type().to_id_string();
            let place = place(&kind);
            let title = PARTS.get(place).map_or(kind.as_str(), |(_, short)| short);
            (place, format!("{title}={}", escaped(&value(a))))
        })
        .collect();
    parts.sort_by_key(|(place, _)| *place);
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn value(a: &AttributeTypeAndValue<'_>) -> String {
    let text = a.as_str().map(String::from);
    text.unwrap_or_else(|_| String::from_utf8_lossy(a.as_slice()).into_owned())
}

/// Escapes the characters that have a meaning in names.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.char_indices() {
        let at_edge = i == 0 || i + c.len_utf8() == text.len();
        if matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';') || c == ' ' && at_edge || c == '#' && i == 0 {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_in_names_are_escaped() {
        assert_eq!(escaped("101 Second Street"), "101 Second Street");
        assert_eq!(escaped(" a,b=c+\"d\" "), "\\ a\\,b=c\\+\\\"d\\\"\\ ");
        assert_eq!(escaped("#1 #2"), "\\#1 #2");
    }

    #[test]
    fn addresses_of_both_lengths_are_shown() {
        assert_eq!(address(&[127, 0, 0, 1]).as_deref(), Some("127.0.0.1"));
        assert_eq!(address(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).as_deref(), Some("::1"));
        assert_eq!(address(&[1, 2, 3]), None);
    }
}
