//! The words of policies: capabilities and levels.

use std::fmt;
use std::str::FromStr;

/// A word that is no capability of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown capability {0:?}")]
pub struct UnknownWord(pub String);

/// Capabilities of one kind: an enum, the names in policies, and all of them.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vdoc])* $word,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$word),*];

            /// The word in policies.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$word => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<$name, UnknownWord> {
                $name::ALL.iter().copied().find(|w| w.name() == text).ok_or_else(|| UnknownWord(text.into()))
            }
        }

        impl Word for $name {
            fn position(self) -> u32 {
                self as u32
            }

            fn all() -> &'static [$name] {
                $name::ALL
            }

            fn word(self) -> &'static str {
                self.name()
            }
        }
    };
}

/// A word that can be in a [`Set`].
pub trait Word: Copy + Eq + 'static {
    /// Its position among all of its kind.
    fn position(self) -> u32;
    /// All of its kind.
    fn all() -> &'static [Self];
    /// The word in policies.
    fn word(self) -> &'static str;
}

words! {
    /// A capability in a namespace (`docs/spec/http-api.md §7.3`).
    Capability {
        /// Nothing: the others do not count.
        Deny = "deny",
        /// List jobs.
        ListJobs = "list-jobs",
        /// Turn job files into JSON.
        ParseJob = "parse-job",
        /// See jobs, and what comes of them.
        ReadJob = "read-job",
        /// Register jobs, and everything that follows.
        SubmitJob = "submit-job",
        /// Dispatch parameterized jobs.
        DispatchJob = "dispatch-job",
        /// Read the output of tasks.
        ReadLogs = "read-logs",
        /// Read the files of allocations.
        ReadFs = "read-fs",
        /// Run commands in tasks.
        AllocExec = "alloc-exec",
        /// Run commands in tasks that see the file system of the node.
        AllocNodeExec = "alloc-node-exec",
        /// Restart, stop and signal allocations.
        AllocLifecycle = "alloc-lifecycle",
        /// Run jobs that are CSI plugins.
        CsiRegisterPlugin = "csi-register-plugin",
        /// Write CSI volumes.
        CsiWriteVolume = "csi-write-volume",
        /// See a CSI volume.
        CsiReadVolume = "csi-read-volume",
        /// List CSI volumes.
        CsiListVolume = "csi-list-volume",
        /// Use CSI volumes.
        CsiMountVolume = "csi-mount-volume",
        /// List scaling policies.
        ListScalingPolicies = "list-scaling-policies",
        /// See a scaling policy.
        ReadScalingPolicy = "read-scaling-policy",
        /// See how a job is scaled.
        ReadJobScaling = "read-job-scaling",
        /// Scale jobs.
        ScaleJob = "scale-job",
        /// Recommend resources.
        SubmitRecommendation = "submit-recommendation",
        /// Override soft policies.
        SentinelOverride = "sentinel-override",
        /// Create host volumes.
        HostVolumeCreate = "host-volume-create",
        /// Register host volumes.
        HostVolumeRegister = "host-volume-register",
        /// See host volumes.
        HostVolumeRead = "host-volume-read",
        /// Everything with host volumes.
        HostVolumeWrite = "host-volume-write",
        /// Delete host volumes.
        HostVolumeDelete = "host-volume-delete",
        /// Register jobs.
        RegisterJob = "register-job",
        /// Return to an older version of a job.
        RevertJob = "revert-job",
        /// Stop jobs.
        DeregisterJob = "deregister-job",
        /// Remove jobs.
        PurgeJob = "purge-job",
        /// Evaluate jobs.
        EvaluateJob = "evaluate-job",
        /// Plan jobs.
        PlanJob = "plan-job",
        /// Tag versions of jobs.
        TagJobVersion = "tag-job-version",
        /// Mark versions of jobs as stable.
        StableJob = "stable-job",
        /// Fail deployments.
        FailDeployment = "fail-deployment",
        /// Pause deployments.
        PauseDeployment = "pause-deployment",
        /// Promote deployments.
        PromoteDeployment = "promote-deployment",
        /// Unblock deployments.
        UnblockDeployment = "unblock-deployment",
        /// Cancel deployments.
        CancelDeployment = "cancel-deployment",
        /// Set the health of allocations of deployments.
        SetAllocHealthDeployment = "set-alloc-health-deployment",
        /// Remove ended allocations from nodes.
        GcAllocation = "gc-allocation",
        /// Pause tasks.
        PauseAllocation = "pause-allocation",
        /// Launch periodic jobs.
        ForcePeriodicJob = "force-periodic-job",
        /// Remove registrations of services.
        DeleteServiceRegistration = "delete-service-registration",
    }
}

words! {
    /// A capability on variables (`docs/spec/http-api.md §7.4`).
    VariableCapability {
        /// See that they exist.
        List = "list",
        /// See their items.
        Read = "read",
        /// Write them.
        Write = "write",
        /// Remove them.
        Destroy = "destroy",
        /// Nothing.
        Deny = "deny",
    }
}

words! {
    /// A capability of the operator rule.
    OperatorCapability {
        /// Save snapshots.
        SnapshotSave = "snapshot-save",
        /// See the license.
        LicenseRead = "license-read",
        /// List root keys.
        KeyringRead = "keyring-read",
        /// Rotate root keys.
        KeyringRotate = "keyring-rotate",
        /// Remove root keys.
        KeyringDelete = "keyring-delete",
        /// Nothing.
        Deny = "deny",
    }
}

words! {
    /// A capability on node pools.
    PoolCapability {
        /// See.
        Read = "read",
        /// Change.
        Write = "write",
        /// Remove.
        Delete = "delete",
        /// Nothing.
        Deny = "deny",
    }
}

words! {
    /// A capability on the host volumes of nodes.
    HostVolumeCapability {
        /// Mount read-only.
        MountReadonly = "mount-readonly",
        /// Mount.
        MountReadwrite = "mount-readwrite",
        /// Nothing.
        Deny = "deny",
    }
}

words! {
    /// The level of a rule without capabilities.
    Level {
        /// See.
        Read = "read",
        /// Change.
        Write = "write",
    }
}

words! {
    /// The level of the rule about plugins.
    PluginLevel {
        /// List.
        List = "list",
        /// See.
        Read = "read",
    }
}

words! {
    /// The value of `policy` in a rule. The later ones are stronger, except for [`PolicyWord::Scale`].
    PolicyWord {
        /// Means something for namespaces only.
        Scale = "scale",
        /// List.
        List = "list",
        /// See.
        Read = "read",
        /// Change.
        Write = "write",
        /// Nothing.
        Deny = "deny",
    }
}

/// A set of words of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set<W>(u64, std::marker::PhantomData<W>);

impl<W> Default for Set<W> {
    fn default() -> Self {
        Set(0, std::marker::PhantomData)
    }
}

impl<W: Word> Set<W> {
    /// A set of these.
    pub fn of(words: &[W]) -> Set<W> {
        words.iter().copied().collect()
    }

    /// Whether the word is in the set.
    pub fn holds(self, word: W) -> bool {
        self.0 & (1 << word.position()) != 0
    }

    /// Whether one of the words is in the set.
    pub fn holds_any(self, words: &[W]) -> bool {
        words.iter().any(|w| self.holds(*w))
    }

    /// Whether another word than this one is in the set.
    pub fn holds_other_than(self, word: W) -> bool {
        !self.without(Set::of(&[word])).is_empty()
    }

    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds a word.
    pub fn add(&mut self, word: W) {
        self.0 |= 1 << word.position();
    }

    /// The words of both.
    pub fn union(self, other: Set<W>) -> Set<W> {
        Set(self.0 | other.0, std::marker::PhantomData)
    }

    /// The words of this set that the other one has not.
    pub fn without(self, other: Set<W>) -> Set<W> {
        Set(self.0 & !other.0, std::marker::PhantomData)
    }

    /// The words, in their order.
    pub fn iter(self) -> impl Iterator<Item = W> {
        W::all().iter().copied().filter(move |w| self.holds(*w))
    }

    /// The words as they stand in policies.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Word::word).collect()
    }
}

impl<W: Word> FromIterator<W> for Set<W> {
    fn from_iter<I: IntoIterator<Item = W>>(words: I) -> Self {
        let mut set = Set::default();
        words.into_iter().for_each(|w| set.add(w));
        set
    }
}
