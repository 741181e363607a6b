//! `tls`: makes and shows the certificates of a cluster, without a server (`docs/spec/cli.md §15.5`).
//!
//! - [`ca`]: certificate authorities. [`cert`]: certificates of servers, clients and operators.
//! - `authority`: an authority that signs. `files`: files of certificates and keys. `info`: what a certificate says.

// The documentation of a command is its help text, where <domain> is a placeholder.
#![allow(rustdoc::invalid_html_tags)]

mod authority;
pub mod ca;
pub mod cert;
mod files;
mod info;

use std::time::Duration;

use rcgen::{CertificateParams, SerialNumber, date_time_ymd};
use thiserror::Error;

use super::context::Context;
use encamp_host::ids;

/// The domain whose names agents accept with `verify_server_hostname` (`docs/spec/http-api.md §11`).
const NOMAD: &str = "nomad";
/// The time before now from which certificates are valid, for clocks that are late.
const LATE: Duration = Duration::from_secs(60);
/// The longest life of a certificate, in days: the year has four digits.
const LONGEST: u32 = 365 * 1000;

/// A flag with a value that certificates cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum InvalidValue {
    /// The life of a certificate.
    #[error("-days must be a number from 1 to {LONGEST}, not {0}")]
    Days(i64),
    /// A part of a DNS name: the flag and its value.
    #[error("-{0}: {1:?} is not a DNS name: use letters, digits, hyphens and dots")]
    DnsName(&'static str, String),
    /// The system gives no random bytes for a serial number.
    #[error("the system has no random numbers")]
    NoRandomness,
}

/// Checks a value that becomes part of a DNS name and of file names.
fn dns_name(flag: &'static str, value: &str) -> Result<(), InvalidValue> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let label = |l: &str| !l.is_empty() && l.len() <= 63 && !l.starts_with('-') && l.chars().all(fits);
    if value.len() <= 200 && value.split('.').all(label) {
        return Ok(());
    }
    Err(InvalidValue::DnsName(flag, value.into()))
}

/// What certificates of authorities and others have in common: their life and a random serial number, which is also
/// returned. `now` is in nanoseconds since 1970.
fn params(now: i64, days: i64) -> Result<(CertificateParams, u128), InvalidValue> {
    let days = u32::try_from(days).ok().filter(|d| (1..=LONGEST).contains(d)).ok_or(InvalidValue::Days(days))?;
    let now = Duration::from_nanos(u64::try_from(now).unwrap_or_default());
    let begin = date_time_ymd(1970, 1, 1) + Duration::from_secs(now.saturating_sub(LATE).as_secs());
    let mut serial = [0; 16];
    ids::secret(&mut serial).map_err(|_| InvalidValue::NoRandomness)?;
    let mut params = CertificateParams::default();
    params.not_before = begin;
    params.not_after = begin + LATE + Duration::from_secs(24 * 60 * 60) * days;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.use_authority_key_identifier_extension = true;
    Ok((params, u128::from_be_bytes(serial)))
}

/// Prints the table of a certificate.
fn show(context: &mut Context<'_, '_>, table: Result<String, info::InfoError>) -> u8 {
    match table {
        Ok(table) => {
            context.ui.output(&table);
            0
        }
        Err(e) => context.report(&e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_certificate_can_have_are_refused() {
        for good in ["nomad", "example.com", "eu-west_1", "a"] {
            assert_eq!(dns_name("domain", good), Ok(()));
        }
        for bad in ["", ".", "a..b", "a/b", "../x", "é", "-a", "a b", &"x".repeat(64), &"x.".repeat(120)] {
            assert_eq!(dns_name("domain", bad), Err(InvalidValue::DnsName("domain", bad.into())));
        }
    }
}
