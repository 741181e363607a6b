//! The keys of allocations.

use crate::id::Id;

/// The IDs of all allocations with the slots of their nodes, by ID and by job.
#[derive(Debug, Clone, Default)]
pub struct AllocKeys {
    /// Job IDs and namespaces, ascending, and where the IDs of each end.
    jobs: Vec<(Id, Id)>,
    ends: Vec<usize>,
    /// IDs and slots, by job and ID.
    rows: Vec<(Id, u32)>,
    /// The positions of rows by ID.
    order: Vec<u32>,
}

impl AllocKeys {
    /// Adds the allocations of a job, by ascending ID. Jobs are added in the order of IDs and namespaces.
    pub fn add_job(&mut self, job: (Id, Id), rows: impl IntoIterator<Item = (Id, u32)>) {
        self.rows.extend(rows);
        self.jobs.push(job);
        self.ends.push(self.rows.len());
    }

    /// How many allocations there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The jobs.
    pub(super) fn job_keys(&self) -> &[(Id, Id)] {
        &self.jobs
    }

    /// The positions of allocations, as they were added, by ascending ID.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Orders the allocations by ID: [`AllocKeys::order`]. False if the order is not one of all allocations.
    pub fn set_order(&mut self, order: Vec<u32>) -> bool {
        let fits = order.len() == self.rows.len() && order.iter().all(|row| (*row as usize) < self.rows.len());
        self.order = order;
        fits
    }

    /// Finds the order.
    pub(super) fn sort(&mut self) {
        self.order = (0..u32::try_from(self.rows.len()).unwrap_or(u32::MAX)).collect();
        let rows = &self.rows;
        self.order.sort_unstable_by_key(|row| rows.get(*row as usize).map(|(id, _)| id));
    }

    pub(super) fn by_id(&self, position: usize) -> Option<&(Id, u32)> {
        self.rows.get(*self.order.get(position)? as usize)
    }

    /// The jobs with the IDs and slots of their allocations.
    pub fn jobs(&self) -> impl Iterator<Item = (&(Id, Id), &[(Id, u32)])> {
        self.jobs.iter().enumerate().map(|(i, job)| (job, self.of_job(i)))
    }

    pub(super) fn of_job(&self, position: usize) -> &[(Id, u32)] {
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.ends.get(position).and_then(|end| self.rows.get(start..*end)).unwrap_or_default()
    }
}
