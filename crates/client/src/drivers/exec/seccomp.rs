//! The filter of system calls of isolated tasks (`docs/spec/client.md §23.2`).
//!
//! Everything is allowed but what serves to leave the isolation or to attack the kernel, and what the task has no
//! capability for: programs that never ask for such calls don't notice the filter. The reasons are in
//! `docs/dev/isolation.md`.

use std::collections::BTreeMap;

use rustix::thread::CapabilitySet;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::capabilities::Capabilities;

/// Calls that no task may make.
const NEVER: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
];
/// Calls that need a capability; a task without it may not make them.
const WITH: &[(CapabilitySet, &[i64])] = &[
    (
        CapabilitySet::SYS_ADMIN,
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_mount_setattr,
            libc::SYS_setns,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_fanotify_init,
        ],
    ),
    (CapabilitySet::BPF.union(CapabilitySet::SYS_ADMIN), &[libc::SYS_bpf]),
    (CapabilitySet::PERFMON.union(CapabilitySet::SYS_ADMIN), &[libc::SYS_perf_event_open]),
    (CapabilitySet::DAC_READ_SEARCH, &[libc::SYS_open_by_handle_at]),
    (CapabilitySet::SYS_BOOT, &[libc::SYS_reboot, libc::SYS_kexec_load, libc::SYS_kexec_file_load]),
    (CapabilitySet::SYS_MODULE, &[libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module]),
    (CapabilitySet::SYS_TIME, &[libc::SYS_settimeofday, libc::SYS_clock_settime]),
    (CapabilitySet::SYS_PACCT, &[libc::SYS_acct]),
    (CapabilitySet::SYSLOG, &[libc::SYS_syslog]),
];
/// Calls on other processes, which tasks that see those of the host may only make with the capability for it.
const ON_PROCESSES: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
];
/// Calls that programs do without when the kernel does not have them.
const UNKNOWN: &[i64] = &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
/// Families of sockets that lead out of every network namespace, or to much of the kernel.
const FAMILIES: [i32; 2] = [libc::AF_VSOCK, libc::AF_ALG];

#[cfg(target_arch = "x86_64")]
mod machine {
    /// Calls of this machine alone that no task may make.
    pub(super) const NEVER: &[i64] = &[
        libc::SYS__sysctl,
        libc::SYS_ioperm,
        libc::SYS_iopl,
        libc::SYS_lookup_dcookie,
        libc::SYS_sysfs,
        libc::SYS_uselib,
        libc::SYS_ustat,
    ];
    /// The mark of calls of the x32 interface, and its own numbers.
    pub(super) const SECOND: i64 = 0x4000_0000;
    pub(super) const SECOND_OWN: std::ops::Range<i64> = 512..548;
}

#[cfg(not(target_arch = "x86_64"))]
mod machine {
    /// Calls of this machine alone that no task may make.
    pub(super) const NEVER: &[i64] = &[];
    /// There is no second interface.
    pub(super) const SECOND: i64 = 0;
    pub(super) const SECOND_OWN: std::ops::Range<i64> = 0..0;
}

/// Why a task has no filter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    /// It can't be translated.
    #[error("failed to make the filter of system calls: {0}")]
    Compile(#[from] BackendError),
    /// The kernel does not take it.
    #[error("failed to set the filter of system calls: {0}")]
    Apply(#[from] seccompiler::Error),
}

/// A condition: an argument has all bits of a mask.
fn has_bits(argument: u8, mask: u64) -> Result<SeccompRule, BackendError> {
    let set = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(mask), mask)?;
    SeccompRule::new(vec![set])
}

/// Denied calls by number, with the conditions under which they are; none: always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn compile(mut rules: Rules, error: rustix::io::Errno) -> Result<BpfProgram, BackendError> {
    if machine::SECOND != 0 {
        let twice: Rules = rules.iter().map(|(number, rule)| (number | machine::SECOND, rule.clone())).collect();
        rules.extend(twice);
        rules.extend(machine::SECOND_OWN.map(|number| (number | machine::SECOND, Vec::new())));
    }
    let number = u32::try_from(error.raw_os_error()).unwrap_or(1);
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(number), arch)?.try_into()
}

/// The programs of a task: the first one refuses calls, the second one says that there are no such calls.
fn programs(capabilities: Capabilities, own_processes: bool) -> Result<[BpfProgram; 2], BackendError> {
    let mut refused: Rules = NEVER.iter().chain(machine::NEVER).map(|number| (*number, Vec::new())).collect();
    for (any_of, calls) in WITH {
        if capabilities.set().intersection(*any_of).is_empty() {
            refused.extend(calls.iter().map(|number| (*number, Vec::new())));
        }
    }
    if !own_processes && !capabilities.has(CapabilitySet::SYS_PTRACE) {
        refused.extend(ON_PROCESSES.iter().map(|number| (*number, Vec::new())));
    }
    let families = FAMILIES.iter().map(|family| {
        let value = u64::try_from(*family).unwrap_or(u64::MAX);
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?])
    });
    let families = families.collect::<Result<Vec<_>, _>>()?;
    refused.insert(libc::SYS_socket, families.clone());
    refused.insert(libc::SYS_socketpair, families);
    let mut unknown: Rules = UNKNOWN.iter().map(|number| (*number, Vec::new())).collect();
    if !capabilities.has(CapabilitySet::SYS_ADMIN) {
        let namespaces = [
            libc::CLONE_NEWNS,
            libc::CLONE_NEWCGROUP,
            libc::CLONE_NEWUTS,
            libc::CLONE_NEWIPC,
            libc::CLONE_NEWUSER,
            libc::CLONE_NEWPID,
            libc::CLONE_NEWNET,
        ];
        let flags = |all: &[i32]| {
            all.iter().map(|flag| has_bits(0, u64::from(flag.unsigned_abs()))).collect::<Result<Vec<_>, _>>()
        };
        refused.insert(libc::SYS_clone, flags(&namespaces)?);
        // In `clone` this bit belongs to the signal of the child's end.
        let mut unshared = flags(&namespaces)?;
        unshared.push(has_bits(0, NEWTIME)?);
        refused.insert(libc::SYS_unshare, unshared);
        // Its flags are behind a pointer, where no filter sees them. Programs fall back to the older call.
        unknown.insert(libc::SYS_clone3, Vec::new());
    }
    Ok([compile(refused, rustix::io::Errno::PERM)?, compile(unknown, rustix::io::Errno::NOSYS)?])
}

/// `CLONE_NEWTIME`.
const NEWTIME: u64 = 0x80;

/// Sets the filter of this thread, and of what it starts. Needs that no new privileges can be gained.
/// `own_processes`: the task sees its own processes alone.
pub(super) fn apply(capabilities: Capabilities, own_processes: bool) -> Result<(), FilterError> {
    for program in programs(capabilities, own_processes)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::exec::capabilities::of_task;

    #[test]
    fn filters_are_made() {
        let all = ["all".to_string()];
        let every = of_task(Some(&all), &all, &[], false).unwrap();
        let length = |c, own| programs(c, own).unwrap().map(|p| p.len());
        let (few, many) = (length(Capabilities::NONE, true), length(every, true));
        assert!(few[0] > many[0] && few[1] > many[1], "{few:?} {many:?}");
        assert!(length(Capabilities::NONE, false)[0] > few[0]);
        // The longest program that the kernel takes.
        assert!(length(Capabilities::NONE, false).iter().all(|n| *n < 4096));
    }
}
