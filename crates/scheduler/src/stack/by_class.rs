//! Cached feasibility of computed classes, by their numbers in the node index.

/// A value per class, for classes that were asked about.
#[derive(Debug, Clone)]
pub(crate) struct ByClass<T> {
    values: Vec<Option<T>>,
    /// How many classes the nodes have: room for all of them is made with the first value.
    classes: usize,
}

impl<T: Copy> ByClass<T> {
    /// Nothing is known about so many classes.
    pub(crate) fn new(classes: usize) -> ByClass<T> {
        ByClass { values: Vec::new(), classes }
    }

    /// The cached feasibility of a class.
    pub(crate) fn get(&self, class: usize) -> Option<T> {
        self.values.get(class).copied().flatten()
    }

    /// Remembers what holds for a class.
    pub(crate) fn set(&mut self, class: usize, value: T) {
        if self.values.len() <= class {
            self.values.resize(self.classes.max(class + 1), None);
        }
        self.values[class] = Some(value);
    }

    /// Forgets a class.
    pub(crate) fn forget(&mut self, class: usize) {
        if let Some(v) = self.values.get_mut(class) {
            *v = None;
        }
    }

    /// All classes, with what is known about them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<T>> {
        self.values.iter().copied()
    }
}
