//! Cached feasibility of computed classes, by their numbers in the node index.

/// A value per class, for classes that were asked about.
#[derive(Debug, Clone)]
pub(crate) struct ByClass<T>(Vec<Option<T>>);

impl<T> Default for ByClass<T> {
    fn default() -> ByClass<T> {
        ByClass(Vec::new())
    }
}

impl<T: Copy> ByClass<T> {
    /// The cached feasibility of a class.
    pub(crate) fn get(&self, class: usize) -> Option<T> {
        self.0.get(class).copied().flatten()
    }

    /// Remembers what holds for a class.
    pub(crate) fn set(&mut self, class: usize, value: T) {
        if self.0.len() <= class {
            self.0.resize(class + 1, None);
        }
        self.0[class] = Some(value);
    }

    /// Forgets a class.
    pub(crate) fn forget(&mut self, class: usize) {
        if let Some(v) = self.0.get_mut(class) {
            *v = None;
        }
    }

    /// All classes up to the last that is known.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<T>> {
        self.0.iter().copied()
    }
}
