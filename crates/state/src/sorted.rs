//! Trees of many rows that are known before.

use imbl::OrdMap;

/// The tree of rows, whose leaves are full if the rows ascend. Rows that are added one by one in their order leave each
/// leaf half full: it is split when the next row does not fit, and gets no other.
pub(super) fn full_map<K: Ord + Clone, V: Clone>(rows: impl Iterator<Item = (K, V)> + Clone) -> OrdMap<K, V> {
    // Every other row makes the leaves, and the others fill them.
    let mut map: OrdMap<K, V> = rows.clone().step_by(2).collect();
    map.extend(rows.skip(1).step_by(2));
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_has_all_rows() {
        for count in [0, 1, 2, 16, 17, 33, 1000] {
            let rows = || (0..count).map(|n| (n, n * 3));
            assert_eq!(full_map(rows()), rows().collect());
        }
        // Of equal keys the order would decide: there are none. Rows in another order are all there, too.
        assert_eq!(full_map((0..100).rev().map(|n| (n, n))), (0..100).map(|n| (n, n)).collect());
    }
}
