//! Chooses the allocations to stop when there are too many (`docs/spec/reconciliation.md §5.10`).

use std::collections::{BTreeSet, HashSet};

use super::NameIndex;
use super::group::Group;
use super::set::Set;
use crate::descriptions;
use encamp_model::*;

impl Group<'_, '_> {
    /// Stops lost allocations and, if there are more than wanted: old ones whose canary is promoted, then the highest
    /// names, migrating ones first, then whatever is left.
    pub(super) fn scale_down(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        for i in lost.iter() {
            self.stop(i, descriptions::LOST, ClientStatus::Lost);
        }
        self.d.stop += lost.len() as u64;
        self.untainted.remove_all(&lost);
        self.lost = lost;

        let canarying = self.state.desired_canaries != 0 && !self.state.promoted;
        let mut working = self.untainted.clone();
        if canarying {
            working.remove_all(&self.canaries);
        }
        let present = working.iter().filter(|i| self.allocs[*i].client_status != ClientStatus::Unknown).count();
        let Some(surplus) = (present + self.migrate.len()).checked_sub(self.count).filter(|n| *n > 0) else { return };
        working.retain(|i| !self.allocs[i].server_terminal());
        let stopped: Set = self.surplus(surplus, &working, canarying).into_iter().collect();
        for i in stopped.iter() {
            self.stop(i, descriptions::NOT_NEEDED, ClientStatus::Unset);
        }
        self.d.stop += stopped.len() as u64;
        self.untainted.remove_all(&stopped);
        self.migrate.remove_all(&stopped);
    }

    /// The `remove` allocations of `working` and `migrate` that stop.
    fn surplus(&mut self, remove: usize, working: &Set, canarying: bool) -> BTreeSet<usize> {
        let mut stopped = BTreeSet::new();
        if !canarying && !self.canaries.is_empty() {
            let names: HashSet<&str> = self.canaries.iter().map(|i| self.allocs[i].name.as_str()).collect();
            let twins =
                working.iter().filter(|i| !self.canaries.contains(*i) && names.contains(self.allocs[*i].name.as_str()));
            stopped.extend(twins.take(remove));
        }
        if stopped.len() < remove && !self.migrate.is_empty() {
            let indexes = self.migrate.iter().map(|i| self.allocs[i].index());
            let mut names = NameIndex::new(&self.job.id, &self.name, self.count, indexes);
            let highest = names.highest(remove - stopped.len());
            for i in self.migrate.iter().filter(|i| highest.contains(&*self.allocs[*i].name)) {
                if stopped.len() == remove {
                    break;
                }
                stopped.insert(i);
                self.names.unset(self.allocs[i].index());
            }
        }
        if stopped.len() < remove {
            let highest = self.names.highest(remove - stopped.len());
            for i in working.iter() {
                if stopped.len() == remove {
                    break;
                }
                if highest.contains(&*self.allocs[i].name) {
                    stopped.insert(i);
                }
            }
        }
        for i in working.iter() {
            if stopped.len() == remove {
                break;
            }
            stopped.insert(i);
        }
        stopped
    }
}
