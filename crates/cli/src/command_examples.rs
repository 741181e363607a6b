//! Examples of the use of commands, for help texts and manual pages. A test runs each of them
//! (`tests/cli/command_examples`).

/// An example: what the command line does, in the imperative, without a full stop; and the command line, for a shell.
/// The lines that continue it are indented by four blanks.
pub type Example = (&'static str, &'static str);

/// An object whose ID is random, and which examples name by an ID of [`IDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// An ACL binding rule of the auth method `ci`.
    AclBindingRule,
    /// The ACL role `developers`.
    AclRole,
    /// An ACL token with the policy `dev`.
    AclToken,
    /// A running allocation of the job `web`.
    Allocation,
    /// The latest deployment of the job `api`.
    Deployment,
    /// The latest completed evaluation of the job `web`.
    Evaluation,
    /// The host volume `old`.
    HostVolume,
    /// The claim of the job `db` on a host volume.
    HostVolumeClaim,
    /// A node.
    Node,
    /// A server that is a Raft peer and not the leader.
    RaftPeer,
    /// An inactive root key.
    RootKey,
    /// The scaling policy of the job `web`.
    ScalingPolicy,
}

/// The IDs in examples, in full or as their first eight digits, and the objects that they name.
pub const IDS: &[(&str, Named)] = &[
    ("95d1f7c3-3b08-4e6a-b2c7-50a9e6d4f812", Named::AclBindingRule),
    ("6c5ab0e7-92d4-4f18-9a3c-1d7e8b50f264", Named::AclRole),
    ("e0b47c92-5a1d-4c3e-8f06-97d2b4a18c35", Named::AclToken),
    ("8ba85cef-34de-4c2d-8a2d-7f6e6a2a5c31", Named::Allocation),
    ("5456bd7a-9fc0-4c0f-a9ce-51d5c5b1c0e6", Named::Deployment),
    ("2c3f8e0a-6b1d-4b6e-8f37-5d9e2c7a1b04", Named::Evaluation),
    ("3b1f6e2a-90c4-4d7e-a5b8-1f6e2d0c7a93", Named::HostVolume),
    ("7c0e5d41-2a6b-4f98-8e03-b5d1c9f7a264", Named::HostVolumeClaim),
    ("f7476465-4d6e-4d3b-9d0c-3f1c0b6e5a72", Named::Node),
    ("d9a4c7e1-52f0-4b3c-9a86-0e7b1c5d2f94", Named::RaftPeer),
    ("b0d8f3a6-7e19-4c85-b2d4-6a0f9c3e1d57", Named::RootKey),
    ("4ae3b1c2-08d7-4f9e-8c61-d2b5a7f3e904", Named::ScalingPolicy),
];

/// Examples in the manual page of the program.
pub const PROGRAM: &[Example] = &[
    ("List the commands", "encamp -help"),
    ("Describe a command, its options and its exit statuses", "encamp job plan -help"),
];
