//! Floating point numbers as texts.

/// `1.5e+06`; without precision, as many digits as tell the number from others.
pub(super) fn exponential(f: f64, precision: Option<usize>) -> String {
    let text = match precision {
        Some(precision) => format!("{f:.precision$e}"),
        None => format!("{f:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%g`.
pub(super) fn general(f: f64, precision: Option<usize>) -> String {
    let precision = precision.map(|p| p.max(1));
    let text = match precision {
        Some(p) => format!("{f:.*e}", p - 1),
        None => format!("{f:e}"),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let mut digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    // Zeros at the end are not shown.
    let kept = digits.trim_end_matches('0').len().max(1);
    digits.truncate(kept);
    let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
    let mut limit = match precision {
        Some(p) => i64::try_from(p).unwrap_or(i64::MAX),
        None => 6,
    };
    if limit > count && count > exponent {
        limit = count;
    }
    if precision.is_none() {
        limit = 6;
    }
    if exponent < -4 || exponent >= limit {
        let (first, rest) = digits.split_at(1);
        let (sign, exponent) = if exponent < 0 { ('-', -exponent) } else { ('+', exponent) };
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{first}{point}{rest}e{sign}{exponent:02}");
    }
    let Ok(places) = usize::try_from(exponent + 1) else {
        return format!("0.{}{digits}", "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0)));
    };
    if places == 0 {
        return format!("0.{digits}");
    }
    if digits.len() <= places {
        return format!("{digits:0<places$}");
    }
    let (whole, fraction) = digits.split_at(places);
    format!("{whole}.{fraction}")
}
