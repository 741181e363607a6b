//! Blocking queries: the indexes that a client sees do not go back.

use super::Verdict;
use crate::history::Indexes;

/// Checks the indexes of each client.
pub(crate) fn check(all: &[Indexes]) -> Verdict {
    let mut broken = Vec::new();
    for indexes in all {
        let back = indexes.seen.windows(2).filter(|pair| pair[1] < pair[0]);
        broken.extend(back.map(|pair| format!("{}: {} after {}", indexes.of, pair[1], pair[0])));
    }
    let answers: usize = all.iter().map(|i| i.seen.len()).sum();
    Verdict { what: "indexes of blocking queries do not go back", amount: format!("{answers} answers"), broken }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_index_is_found() {
        let of = |seen: &[u64]| Indexes { of: "jobs".into(), seen: seen.to_vec() };
        assert_eq!(check(&[of(&[1, 1, 4]), of(&[2, 3])]).broken.len(), 0);
        assert_eq!(check(&[of(&[1, 5, 4, 6])]).broken.len(), 1);
    }
}
