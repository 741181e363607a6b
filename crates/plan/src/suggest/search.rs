//! The nearest value with which something works, found in few tries.

/// The values that an edit can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Values {
    /// There is one: 0.
    Only,
    /// The largest one from `least` to `most` that works is wanted.
    Largest { least: i64, most: i64, guess: Option<i64> },
    /// The smallest one from `least` to `most` that works is wanted.
    Smallest { least: i64, most: i64, guess: Option<i64> },
    /// The first one that works is wanted; all behind it work, too.
    Listed(Vec<i64>),
}

/// A search was ended before it was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut;

/// The wanted value, if any works. All values on the far side of one that works are expected to work.
pub(super) fn best(values: &Values, works: &mut dyn FnMut(i64) -> Result<bool, Cut>) -> Result<Option<i64>, Cut> {
    match values {
        Values::Only => Ok(works(0)?.then_some(0)),
        Values::Smallest { least, most, guess } => smallest((*least, *most), *guess, works),
        Values::Largest { least, most, guess } => {
            let mirrored = smallest((-most, -least), guess.map(|g| -g), &mut |v| works(-v))?;
            Ok(mirrored.map(|v| -v))
        }
        Values::Listed(list) => {
            let at = |i: i64| usize::try_from(i).ok().and_then(|i| list.get(i)).copied();
            let Some(last) = i64::try_from(list.len()).ok().and_then(|n| n.checked_sub(1)) else { return Ok(None) };
            let found = smallest((0, last), None, &mut |i| at(i).map_or(Ok(false), &mut *works))?;
            Ok(found.and_then(at))
        }
    }
}

/// The smallest value of a range that works, if the largest does.
fn smallest(
    (least, most): (i64, i64),
    guess: Option<i64>,
    works: &mut dyn FnMut(i64) -> Result<bool, Cut>,
) -> Result<Option<i64>, Cut> {
    if least > most {
        return Ok(None);
    }
    let guess = guess.map_or(most, |g| g.clamp(least, most));
    // `bad` does not work, or is below the range; `good` works.
    let (mut bad, mut good) = (least.saturating_sub(1), guess);
    let mut step = 1_i64;
    if works(guess)? {
        while good > least && step > 0 {
            // Without a guess, the range is halved at once.
            let next = if guess == most { break } else { good.saturating_sub(step).max(least) };
            if !works(next)? {
                bad = next;
                break;
            }
            good = next;
            step = step.saturating_mul(4);
        }
    } else {
        bad = guess;
        loop {
            if bad >= most {
                return Ok(None);
            }
            good = bad.saturating_add(step).min(most);
            if works(good)? {
                break;
            }
            bad = good;
            step = step.saturating_mul(4);
        }
    }
    while good - bad > 1 {
        let middle = bad + (good - bad) / 2;
        if works(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(Some(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tries(values: &Values, works: impl Fn(i64) -> bool) -> (Option<i64>, usize) {
        let mut count = 0;
        let found = best(values, &mut |v| {
            count += 1;
            Ok(works(v))
        });
        (found.unwrap(), count)
    }

    #[test]
    fn the_edge_is_found_wherever_it_is() {
        for edge in 0..=70 {
            for guess in [None, Some(-5), Some(0), Some(31), Some(64), Some(99)] {
                let smallest = Values::Smallest { least: 1, most: 64, guess };
                let want = (edge <= 64).then_some(edge.max(1));
                assert_eq!(tries(&smallest, |v| v >= edge).0, want, "{edge} {guess:?}");
                let largest = Values::Largest { least: 1, most: 64, guess };
                let want = (edge >= 1).then_some(edge.min(64));
                assert_eq!(tries(&largest, |v| v <= edge).0, want, "{edge} {guess:?}");
            }
        }
        let listed = Values::Listed(vec![3, 5, 9]);
        for (edge, want) in [(1, Some(3)), (4, Some(5)), (9, Some(9)), (10, None)] {
            assert_eq!(tries(&listed, |v| v >= edge).0, want);
        }
        assert_eq!(tries(&Values::Listed(vec![]), |_| true).0, None);
    }

    #[test]
    fn a_good_guess_takes_two_tries_and_a_near_one_few() {
        let largest = |guess| Values::Largest { least: 1, most: 100_000, guess: Some(guess) };
        assert_eq!(tries(&largest(5000), |v| v <= 5000), (Some(5000), 2));
        assert!(tries(&largest(5003), |v| v <= 5000).1 <= 5);
        assert!(tries(&largest(4990), |v| v <= 5000).1 <= 9);
        let none = Values::Largest { least: 1, most: 100_000, guess: None };
        assert_eq!(tries(&none, |_| false), (None, 1));
        assert!(tries(&none, |v| v <= 5000).1 <= 18);
    }

    #[test]
    fn a_cut_ends_the_search() {
        let values = Values::Largest { least: 1, most: 10, guess: None };
        assert_eq!(best(&values, &mut |_| Err(Cut)), Err(Cut));
    }
}
