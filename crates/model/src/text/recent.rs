//! The texts that a thread saw recently: a small cache of sets, each for some hashes.
//!
//! A text that is seen again moves towards the front of its set, and a new one displaces the last of a full set: texts
//! that are seen once do not drive out those that are used all the time. Who displaces whom changes no text, only how
//! often its bytes are stored.

use std::cell::RefCell;
use std::hash::Hasher;

use arcstr::ArcStr;
use rustc_hash::FxHasher;

/// Longer texts, in bytes, are rarely seen twice.
const LONGEST: usize = 128;
/// The texts of a set.
const WAYS: usize = 4;
/// The sets of a thread that has seen few texts.
const FEWEST_SETS: usize = 64;
/// The most sets: the IDs and names of 5,000 nodes take a third of them.
const MOST_SETS: usize = 8_192;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent { sets: Vec::new(), displaced: 0 }) };
}

/// The text, with the bytes of an equal one if this thread saw one recently.
pub(super) fn shared(text: &str) -> ArcStr {
    if text.is_empty() {
        return ArcStr::new();
    }
    if text.len() > LONGEST {
        return ArcStr::from(text);
    }
    // A thread that ends has none any more.
    let known = RECENT.try_with(|recent| Some(recent.try_borrow_mut().ok()?.shared(text)));
    known.ok().flatten().unwrap_or_else(|| ArcStr::from(text))
}

#[derive(Clone, Default)]
struct Seen {
    /// Part of the text's hash, so that other texts are not read.
    tag: u32,
    /// The text; empty: none.
    text: ArcStr,
}

impl Seen {
    fn is(&self, tag: u32, text: &str) -> bool {
        self.tag == tag && self.text == *text
    }
}

struct Recent {
    /// A power of two of them, or none.
    sets: Vec<[Seen; WAYS]>,
    /// How many texts were displaced since there are so many sets.
    displaced: usize,
}

impl Recent {
    fn shared(&mut self, text: &str) -> ArcStr {
        if self.displaced >= self.sets.len() / 8 && self.sets.len() < MOST_SETS {
            self.grow();
        }
        let (place, tag) = self.place(text);
        let Some(set) = self.sets.get_mut(place) else { return ArcStr::from(text) };
        if let Some(at) = set.iter().position(|seen| seen.is(tag, text)) {
            let ahead = at.saturating_sub(1);
            set.swap(ahead, at);
            return set.get(ahead).map(|seen| seen.text.clone()).unwrap_or_default();
        }
        let seen = Seen { tag, text: ArcStr::from(text) };
        let new = seen.text.clone();
        self.displaced += usize::from(put(set, seen));
        new
    }

    /// The set of a text, and its tag.
    fn place(&self, text: &str) -> (usize, u32) {
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        let hash = hasher.finish();
        // The upper half and the lower half of a hash.
        let (tag, place) = ((hash >> 32) as u32, hash as u32 as usize);
        (place & self.sets.len().wrapping_sub(1), tag)
    }

    fn grow(&mut self) {
        let count = (self.sets.len() * 4).clamp(FEWEST_SETS, MOST_SETS);
        let old = std::mem::replace(&mut self.sets, vec![<[Seen; WAYS]>::default(); count]);
        self.displaced = 0;
        for seen in old.into_iter().flatten().filter(|seen| !seen.text.is_empty()) {
            let (place, _) = self.place(&seen.text);
            if let Some(set) = self.sets.get_mut(place) {
                put(set, seen);
            }
        }
    }
}

/// Puts a text behind the others of its set; true if it displaces the last one.
fn put(set: &mut [Seen; WAYS], seen: Seen) -> bool {
    let free = set.iter().position(|seen| seen.text.is_empty());
    if let Some(place) = set.get_mut(free.unwrap_or(WAYS - 1)) {
        *place = seen;
    }
    free.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recent() -> Recent {
        Recent { sets: Vec::new(), displaced: 0 }
    }

    #[test]
    fn texts_that_are_used_stay_while_others_are_seen_once() {
        let mut recent = recent();
        let used: Vec<String> = (0..100).map(|n| format!("used-{n}")).collect();
        let first: Vec<ArcStr> = used.iter().map(|text| recent.shared(text)).collect();
        let mut kept = 0;
        for n in 0..10_000 {
            recent.shared(&format!("once-{n}"));
            kept += usize::from(ArcStr::ptr_eq(&recent.shared(&used[n % 100]), &first[n % 100]));
        }
        assert!(kept > 9_000, "{kept}");
    }

    #[test]
    fn a_thread_keeps_a_bounded_number_of_texts() {
        let mut recent = recent();
        for n in 0..100_000 {
            assert_eq!(recent.shared(&n.to_string()), n.to_string());
        }
        assert_eq!(recent.sets.len(), MOST_SETS);
        // The last ones are known.
        assert!(ArcStr::ptr_eq(&recent.shared("99999"), &recent.shared("99999")));
    }

    #[test]
    fn long_texts_and_empty_ones_are_not_kept() {
        let long = "a".repeat(LONGEST + 1);
        assert!(!ArcStr::ptr_eq(&shared(&long), &shared(&long)));
        assert!(ArcStr::ptr_eq(&shared(&long[1..]), &shared(&long[1..])));
        assert!(ArcStr::ptr_eq(&shared(""), &ArcStr::default()));
    }
}
