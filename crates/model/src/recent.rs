//! Parts of allocations that were read a short time ago: an equal part that is read again is not kept twice. The
//! allocations of a group differ in ports, cores and devices at most.

use std::cell::RefCell;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::alloc::{AllocatedResources, AllocatedTaskResources};
use crate::group::TaskLifecycleConfig;
use crate::json::or_default;
use crate::shared::Shared;
use crate::sorted_map::SortedMap;

/// How many values of a type a thread remembers at most.
const REMEMBERED: u64 = 1024;

/// Values by their hashes: of those with the same place the last one stays.
struct Recent<T>(Vec<Option<Arc<T>>>);

impl<T: PartialEq> Recent<T> {
    /// The remembered value that is equal; otherwise this one, which is remembered.
    fn share(&mut self, hash: u64, value: T) -> Arc<T> {
        if self.0.is_empty() {
            self.0.resize_with(REMEMBERED as usize, || None);
        }
        let place = usize::try_from(hash % REMEMBERED).ok().and_then(|at| self.0.get_mut(at));
        match place {
            Some(Some(known)) if **known == value => known.clone(),
            place => {
                let new = Arc::new(value);
                if let Some(place) = place {
                    *place = Some(new.clone());
                }
                new
            }
        }
    }
}

type Tasks = SortedMap<AllocatedTaskResources>;
type Lifecycles = SortedMap<Option<TaskLifecycleConfig>>;

thread_local! {
    static TASKS: RefCell<Recent<Tasks>> = const { RefCell::new(Recent(Vec::new())) };
    static LIFECYCLES: RefCell<Recent<Lifecycles>> = const { RefCell::new(Recent(Vec::new())) };
    static RESOURCES: RefCell<Recent<AllocatedResources>> = const { RefCell::new(Recent(Vec::new())) };
    static ENCODED: RefCell<Encoded> = const { RefCell::new(Encoded(Vec::new())) };
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Reads the resources of tasks; `null` is none.
pub(crate) fn tasks<'de, D: Deserializer<'de>>(d: D) -> Result<Shared<Tasks>, D::Error> {
    or_default(d).map(shared_tasks)
}

fn shared_tasks(tasks: Tasks) -> Shared<Tasks> {
    let amounts = tasks.iter().map(|(name, t)| (name, t.cpu.cpu_shares, t.memory.memory_mb, t.memory.memory_max_mb));
    let hash = hash_of(amounts.collect::<Vec<_>>());
    TASKS.with_borrow_mut(|recent| recent.share(hash, tasks)).into()
}

/// Reads the lifecycles of tasks; `null` is none.
pub(crate) fn lifecycles<'de, D: Deserializer<'de>>(d: D) -> Result<Shared<Lifecycles>, D::Error> {
    or_default(d).map(shared_lifecycles)
}

fn shared_lifecycles(lifecycles: Lifecycles) -> Shared<Lifecycles> {
    let hash = hash_of(lifecycles.keys().collect::<Vec<_>>());
    LIFECYCLES.with_borrow_mut(|recent| recent.share(hash, lifecycles)).into()
}

/// Reads the resources of an allocation; those without ports are equal to those of other allocations of the group.
pub(crate) fn resources<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Arc<AllocatedResources>>, D::Error> {
    Ok(Option::<SharedResources>::deserialize(d)?.map(|resources| resources.0))
}

/// Resources that may be those of other allocations.
struct SharedResources(Arc<AllocatedResources>);

impl From<AllocatedResources> for SharedResources {
    fn from(resources: AllocatedResources) -> SharedResources {
        if has_ports(&resources) {
            return SharedResources(Arc::new(resources));
        }
        // The two parts come from above: equal ones are mostly the same.
        let parts = (resources.tasks.address(), resources.task_lifecycles.address());
        let hash = hash_of((parts, resources.shared.disk_mb));
        SharedResources(RESOURCES.with_borrow_mut(|recent| recent.share(hash, resources)))
    }
}

fn has_ports(resources: &AllocatedResources) -> bool {
    !resources.shared.networks.is_empty() || !resources.shared.ports.is_empty()
}

/// As `encamp_msgpack::ENCODED_FIRST`: its reader shows the encoding of a value before the value.
const ENCODED_FIRST: &str = "$encoded";
/// Longer encodings are not remembered, in bytes.
const LONGEST_ENCODING: usize = 2048;

/// Resources and their encoding.
type WithEncoding = (Box<[u8]>, Arc<AllocatedResources>);

/// Resources by their encoding: most are read thousands of times in succession.
struct Encoded(Vec<Option<WithEncoding>>);

impl Encoded {
    fn place(encoded: &[u8]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write(encoded);
        usize::try_from(hasher.finish() % REMEMBERED).unwrap_or_default()
    }

    fn get(&self, encoded: &[u8]) -> Option<Arc<AllocatedResources>> {
        let (known, resources) = self.0.get(Encoded::place(encoded))?.as_ref()?;
        (**known == *encoded).then(|| resources.clone())
    }

    fn remember(&mut self, encoded: &[u8], resources: &Arc<AllocatedResources>) {
        if self.0.is_empty() {
            self.0.resize_with(REMEMBERED as usize, || None);
        }
        if let Some(place) = self.0.get_mut(Encoded::place(encoded)) {
            *place = Some((encoded.into(), resources.clone()));
        }
    }
}

impl<'de> Deserialize<'de> for SharedResources {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<SharedResources, D::Error> {
        d.deserialize_newtype_struct(ENCODED_FIRST, ResourcesVisitor)
    }
}

struct ResourcesVisitor;

impl<'de> Visitor<'de> for ResourcesVisitor {
    type Value = SharedResources;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the resources of an allocation")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<SharedResources, D::Error> {
        AllocatedResources::deserialize(d).map(SharedResources::from)
    }

    /// The encoding, then the resources.
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<SharedResources, A::Error> {
        let encoded: &'de [u8] = parts.next_element()?.unwrap_or_default();
        if let Some(known) = ENCODED.with_borrow(|recent| recent.get(encoded)) {
            return Ok(SharedResources(known));
        }
        let read: Option<AllocatedResources> = parts.next_element()?;
        let resources = SharedResources::from(read.ok_or_else(|| A::Error::invalid_length(1, &self))?);
        if encoded.len() <= LONGEST_ENCODING && !has_ports(&resources.0) {
            ENCODED.with_borrow_mut(|recent| recent.remember(encoded, &resources.0));
        }
        Ok(resources)
    }
}

impl AllocatedResources {
    /// The same resources, with the parts of those that this thread saw recently where these are equal: so that sibling
    /// allocations that were not read from anywhere share them, too.
    pub fn shared_with_recent(self) -> Arc<AllocatedResources> {
        let shared = SharedResources::from(AllocatedResources {
            tasks: shared_tasks(self.tasks.into_inner()),
            task_lifecycles: shared_lifecycles(self.task_lifecycles.into_inner()),
            shared: self.shared,
        });
        shared.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Allocation;

    fn read(text: &str) -> Allocation {
        serde_json::from_str(text).unwrap()
    }

    fn with(cpu: i64, shared: &str) -> Arc<AllocatedResources> {
        let text = format!(
            r#"{{"AllocatedResources":{{"Tasks":{{"a":{{"Cpu":{{"CpuShares":{cpu}}}}}}},"TaskLifecycles":{{"a":null}},
            "Shared":{shared}}}}}"#
        );
        read(&text).allocated_resources.unwrap()
    }

    #[test]
    fn equal_parts_are_kept_once() {
        let (plain, again) = (with(500, r#"{"DiskMB":5}"#), with(500, r#"{"DiskMB":5}"#));
        assert!(Arc::ptr_eq(&plain, &again));
        let port = |n| with(500, &format!(r#"{{"DiskMB":5,"Ports":[{{"Label":"http","Value":{n}}}]}}"#));
        let (first, second) = (port(1), port(2));
        assert!(!Arc::ptr_eq(&first, &second) && first != second);
        assert_eq!(first.tasks.address(), second.tasks.address());
        assert_eq!(first.task_lifecycles.address(), plain.task_lifecycles.address());
        let other = with(501, r#"{"DiskMB":5}"#);
        assert_ne!(other.tasks.address(), plain.tasks.address());
        assert_eq!(other.tasks.get("a").map(|t| t.cpu.cpu_shares), Some(501));
    }

    #[test]
    fn resources_that_were_made_share_those_that_were_read() {
        let (plain, port) = (with(700, r#"{"DiskMB":5}"#), with(700, r#"{"Ports":[{"Label":"http","Value":9}]}"#));
        for read in [&plain, &port] {
            let text = serde_json::to_string(&**read).unwrap();
            let mut made = (**read).clone();
            // Changed and changed back: parts of its own.
            for (_, task) in made.tasks.iter_mut() {
                task.cpu.cpu_shares += 1;
                task.cpu.cpu_shares -= 1;
            }
            made.task_lifecycles.insert("a".into(), None);
            assert_ne!(made.tasks.address(), read.tasks.address());
            let shared = made.shared_with_recent();
            assert_eq!(serde_json::to_string(&*shared).unwrap(), text);
            assert_eq!(shared.tasks.address(), read.tasks.address());
            assert_eq!(shared.task_lifecycles.address(), read.task_lifecycles.address());
            assert_eq!(Arc::ptr_eq(&shared, read), read.shared.ports.is_empty());
        }
    }

    #[test]
    fn what_was_forgotten_is_read_again() {
        let all: Vec<_> = (0..3000).map(|cpu| with(cpu, "null")).collect();
        for (cpu, r) in (0..).zip(&all) {
            assert_eq!(*with(cpu, "null"), **r);
        }
    }

    #[test]
    fn null_is_nothing() {
        assert_eq!(read(r#"{"AllocatedResources":null}"#).allocated_resources, None);
        let empty = read(r#"{"AllocatedResources":{"Tasks":null,"TaskLifecycles":null}}"#).allocated_resources.unwrap();
        assert!(empty.tasks.is_empty() && empty.task_lifecycles.is_empty());
        let text = serde_json::to_string(&*empty).unwrap();
        assert_eq!(text, r#"{"Tasks":null,"TaskLifecycles":null,"Shared":{"Networks":null,"DiskMB":0,"Ports":null}}"#);
    }
}
