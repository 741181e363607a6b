//! Reads and writes of the allocations of a state.

use std::sync::Arc;

use super::alloc_tables::AllocsById;
use super::id::Id;
use super::node::NodeEntry;
use super::slots::NO_SLOT;
use super::tables::State;
use super::usage::AllocEntry;
use encamp_model::Allocation;

impl State {
    /// The allocation of that ID.
    pub fn alloc(&self, id: &str) -> Option<&Arc<AllocEntry>> {
        self.alloc_at(&Id::new(id))
    }

    /// The allocation of that ID.
    pub fn alloc_at(&self, id: &Id) -> Option<&Arc<AllocEntry>> {
        self.in_slot(*self.allocs.slots.get(id)?, id)
    }

    fn in_slot(&self, slot: u32, id: &Id) -> Option<&Arc<AllocEntry>> {
        if slot == NO_SLOT { self.allocs.orphaned.at(id) } else { self.node_at(slot)?.allocs.at(id) }
    }

    /// How many allocations are stored.
    pub fn alloc_count(&self) -> usize {
        self.allocs.slots.len()
    }

    /// All allocations, in no particular order.
    pub fn allocs(&self) -> impl Iterator<Item = &Arc<AllocEntry>> {
        self.entries().flat_map(|n| &n.allocs).chain(&self.allocs.orphaned)
    }

    /// All allocations by ID, from `first` on.
    pub fn allocs_from(&self, first: &str) -> impl Iterator<Item = &Arc<AllocEntry>> {
        self.allocs.slots.from(Id::new(first)).filter_map(|(id, slot)| self.in_slot(*slot, id))
    }

    /// All allocations of a job, whatever the job's CreateIndex, by ID.
    pub fn allocs_of_job(&self, namespace: &str, job_id: &str) -> Vec<Arc<AllocEntry>> {
        self.entries_of_job(namespace, job_id).cloned().collect()
    }

    /// The same, to be read.
    pub fn entries_of_job(&self, namespace: &str, job_id: &str) -> impl Iterator<Item = &Arc<AllocEntry>> {
        let slots = self.allocs.by_job.get(&(Id::new(job_id), Id::new(namespace)));
        self.expect(slots);
        slots.into_iter().flatten().filter_map(|(id, slot)| self.in_slot(*slot, id))
    }

    /// Says that the allocations of a job are read soon, and then often others on the same nodes.
    fn expect(&self, of_job: Option<&imbl::OrdMap<Id, u32>>) {
        let (Some(rows), Some(of_job)) = (&self.allocs.rows, of_job) else { return };
        let mut slots: Vec<u32> = of_job.values().copied().collect();
        slots.sort_unstable();
        slots.dedup();
        rows.expect(&slots.into_iter().map(|slot| Some(slot).filter(|slot| *slot != NO_SLOT)).collect::<Vec<_>>());
    }

    /// All allocations of jobs with that ID in any namespace, by namespace and allocation ID.
    pub fn allocs_of_job_id(&self, job_id: &str) -> impl Iterator<Item = &Arc<AllocEntry>> {
        self.slots_of_job_id(job_id).filter_map(|(id, slot)| self.in_slot(slot, id))
    }

    /// The IDs of the same, of those whose nodes are stored, with the nodes' slots.
    pub fn placed_ids_of_job_id(&self, job_id: &str) -> impl Iterator<Item = (u32, &Id)> {
        self.slots_of_job_id(job_id).filter(|(_, slot)| *slot != NO_SLOT).map(|(id, slot)| (slot, id))
    }

    /// The nodes that hold allocations of a job, each once, and whether there are allocations whose nodes are not
    /// stored.
    pub fn nodes_of_job(&self, namespace: &str, job_id: &str) -> (Vec<&Arc<NodeEntry>>, bool) {
        let of_job = self.allocs.by_job.get(&(Id::new(job_id), Id::new(namespace)));
        let mut slots: Vec<u32> = of_job.into_iter().flatten().map(|(_, slot)| *slot).collect();
        slots.sort_unstable();
        slots.dedup();
        let orphaned = slots.last() == Some(&NO_SLOT);
        (slots.into_iter().filter_map(|slot| self.node_at(slot)).collect(), orphaned)
    }

    fn slots_of_job_id(&self, job_id: &str) -> impl Iterator<Item = (&Id, u32)> {
        let job = Id::new(job_id);
        let of_job = self.allocs.by_job.from((job.clone(), Id::default())).take_while(move |((j, _), _)| *j == job);
        of_job.flat_map(|(_, slots)| slots).map(|(id, slot)| (id, *slot))
    }

    /// All allocations on a node, stored or not, by ID.
    pub fn allocs_of_node(&self, node_id: &str) -> Vec<Arc<AllocEntry>> {
        match self.node(node_id) {
            Some(n) => n.allocs.iter().cloned().collect(),
            None => {
                let node = Id::new(node_id);
                let ids = self.allocs.of_missing_node(&node);
                ids.filter_map(|id| self.allocs.orphaned.at(id).cloned()).collect()
            }
        }
    }

    /// Adds or replaces allocations. Where the usage of a node can't be carried on exactly it is summed up again, once.
    pub fn upsert_allocs(&mut self, allocs: impl IntoIterator<Item = Arc<Allocation>>) {
        self.upsert_each(allocs, |_, _, _| {});
    }

    /// The same; `note` receives each allocation: its ID, what was stored, and what is stored now.
    pub(super) fn upsert_each(
        &mut self,
        allocs: impl IntoIterator<Item = Arc<Allocation>>,
        mut note: impl FnMut(&Id, Option<&Allocation>, &Allocation),
    ) {
        let mut stale: Vec<u32> = Vec::new();
        for alloc in allocs {
            self.touch(alloc.modify_index);
            let id = Id::new(&alloc.id);
            let old_slot = self.allocs.slots.get(&id).copied();
            let old = old_slot.and_then(|s| self.in_slot(s, &id)).cloned();
            let stays = old.as_ref().is_some_and(|o| o.alloc.node_id == alloc.node_id);
            let slot = old_slot.filter(|_| stays).or_else(|| self.slots.get(&alloc.node_id).copied());
            let slot = slot.unwrap_or(NO_SLOT);
            note(&id, old.as_ref().map(|e| &*e.alloc), &alloc);
            let entry = Arc::new(AllocEntry::after(alloc, old.as_deref()));
            if let Some(old) = old.filter(|_| !stays) {
                let from = old_slot.unwrap_or(NO_SLOT);
                if self.take_from(from, &id, &old.alloc.node_id) {
                    stale.push(from);
                }
            }
            if old_slot != Some(slot) {
                self.allocs.note_slot(&id, &entry.alloc, slot);
            }
            if slot == NO_SLOT {
                self.allocs.orphaned_by_node.insert((Id::new(&entry.alloc.node_id), id.clone()));
                self.allocs.orphaned.insert(id, entry);
            } else if self.change_node(slot, |node| node.put_alloc(id, entry)) == Some(false) {
                stale.push(slot);
            }
        }
        self.sum_up(stale);
    }

    /// Removes allocations.
    pub fn remove_allocs<'a>(&mut self, ids: impl IntoIterator<Item = &'a str>) -> Vec<Arc<Allocation>> {
        let mut stale: Vec<u32> = Vec::new();
        let mut removed = Vec::new();
        for id in ids {
            let id = Id::new(id);
            let Some(slot) = self.allocs.slots.remove(&id) else { continue };
            let Some(alloc) = self.in_slot(slot, &id).map(|e| e.alloc.clone()) else { continue };
            if self.take_from(slot, &id, &alloc.node_id) {
                stale.push(slot);
            }
            let job = (Id::new(&alloc.job_id), Id::new(&alloc.namespace));
            if let Some(of_job) = self.allocs.by_job.get_mut(&job) {
                of_job.remove(&id);
                if of_job.is_empty() {
                    self.allocs.by_job.remove(&job);
                }
            }
            removed.push(alloc);
        }
        self.sum_up(stale);
        removed
    }

    /// Removes an allocation from its node; tells whether the node's usage is to be summed up.
    fn take_from(&mut self, slot: u32, id: &Id, node_id: &str) -> bool {
        if slot == NO_SLOT {
            self.allocs.leave_orphaned(id, node_id);
            return false;
        }
        self.change_node(slot, |node| node.take_alloc(id)) == Some(true)
    }

    fn sum_up(&mut self, mut stale: Vec<u32>) {
        stale.sort_unstable();
        stale.dedup();
        for slot in stale {
            self.change_node(slot, NodeEntry::sum_up);
        }
    }

    /// The allocations of a node that is now stored in a slot: it came back, or was loaded after them.
    pub(super) fn bring_home(&mut self, node_id: &str, slot: u32) -> Vec<(Id, Arc<AllocEntry>)> {
        let node = Id::new(node_id);
        let waiting: Vec<Id> = self.allocs.of_missing_node(&node).cloned().collect();
        let mut home = Vec::with_capacity(waiting.len());
        for id in waiting {
            let Some(entry) = self.allocs.leave_orphaned(&id, node_id) else { continue };
            self.allocs.note_slot(&id, &entry.alloc, slot);
            home.push((id, entry));
        }
        home
    }

    /// The allocations of a node that is no longer stored stay.
    pub(super) fn send_away(&mut self, node_id: &str, allocs: &AllocsById) {
        let node = Id::new(node_id);
        for (id, entry) in allocs.tree() {
            self.allocs.note_slot(id, &entry.alloc, NO_SLOT);
            self.allocs.orphaned_by_node.insert((node.clone(), id.clone()));
            self.allocs.orphaned.insert(id.clone(), entry.clone());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
