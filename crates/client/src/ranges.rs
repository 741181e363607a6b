//! Lists of numbers as text (`0-3,7`).

/// The numbers of a list, in order; none if it can't be read.
pub fn numbers(list: &str) -> Option<Vec<u64>> {
    let mut out = Vec::new();
    for part in list.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (first, last) = bounds(part)?;
        // A list names cores or ports: there are not more of them.
        if last.saturating_sub(first) > 1 << 16 {
            return None;
        }
        out.extend(first..=last);
    }
    out.sort_unstable();
    out.dedup();
    Some(out)
}

fn bounds(part: &str) -> Option<(u64, u64)> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (first <= last).then_some((first, last))
}

/// Whether a list holds a number.
pub fn contains(list: &str, number: u64) -> bool {
    list.split(',').filter_map(|p| bounds(p.trim())).any(|(first, last)| (first..=last).contains(&number))
}

/// Numbers as a list: `0-1,4`.
pub fn text(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*n) => *last = *n,
            _ => runs.push((*n, *n)),
        }
    }
    let run = |(a, b): &(u64, u64)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        assert_eq!(numbers("0-2, 7,1"), Some(vec![0, 1, 2, 7]));
        assert_eq!(
            (numbers(""), numbers("3-1"), numbers("x"), numbers("0-99999999")),
            (Some(vec![]), None, None, None)
        );
        assert_eq!((text(&[0, 1, 4]), text(&[])), ("0-1,4".into(), String::new()));
        assert!(contains("1,5-7", 6) && !contains("1,5-7", 4) && !contains("", 0));
    }
}
