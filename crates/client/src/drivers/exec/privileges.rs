//! Gives up the privileges of the agent before a task's command runs (`docs/spec/client.md §23.2`).

use rustix::fs::{Gid, Uid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, configure_capability_in_ambient_set,
    remove_capability_from_bounding_set, set_capabilities, set_keep_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use serde::{Deserialize, Serialize};

use super::capabilities::Capabilities;
use super::seccomp::{self, FilterError};

/// The identity of an isolated task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Privileges {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its capabilities, and all that its processes can ever have.
    pub capabilities: Capabilities,
    /// It sees its own processes alone.
    pub own_processes: bool,
}

/// Why a process still has privileges that it should not have.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrivilegeError {
    /// The system refuses a step.
    #[error("failed to {step}: {source}")]
    Refused {
        /// What was tried.
        step: &'static str,
        /// The error of the system.
        source: rustix::io::Errno,
    },
    /// The filter of system calls can't be set.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

fn step(step: &'static str) -> impl FnOnce(rustix::io::Errno) -> PrivilegeError {
    move |source| PrivilegeError::Refused { step, source }
}

impl Privileges {
    /// Gives this process, which has one thread, the identity of the task. What it starts has the same. The process
    /// itself can't be looked into by others of its user.
    pub(super) fn assume(&self) -> Result<(), PrivilegeError> {
        set_no_new_privs(true).map_err(step("rule out new privileges"))?;
        for (one, has) in self.capabilities.each() {
            if has {
                continue;
            }
            match remove_capability_from_bounding_set(one) {
                // An older kernel does not know it, so nobody has it.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(e) => return Err(step("bound the capabilities")(e)),
            }
        }
        set_keep_capabilities(true).map_err(step("keep capabilities"))?;
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[]).map_err(step("leave all groups"))?;
        set_thread_res_gid(gid, gid, gid).map_err(step("change the group"))?;
        set_thread_res_uid(uid, uid, uid).map_err(step("change the user"))?;
        let set = self.capabilities.set();
        let sets = CapabilitySets { effective: set, permitted: set, inheritable: set };
        set_capabilities(None, sets).map_err(step("set the capabilities"))?;
        clear_ambient_capability_set().map_err(step("clear the ambient capabilities"))?;
        for (one, _) in self.capabilities.each().filter(|(_, has)| *has) {
            configure_capability_in_ambient_set(one, true).map_err(step("set the ambient capabilities"))?;
        }
        set_keep_capabilities(false).map_err(step("keep no capabilities"))?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(step("close the process to others"))?;
        Ok(seccomp::apply(self.capabilities, self.own_processes)?)
    }
}

/// Has this process give up what its children keep.
pub(super) fn renounce() -> Result<(), PrivilegeError> {
    clear_ambient_capability_set().map_err(step("clear the ambient capabilities"))?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).map_err(step("set the capabilities"))
}
