//! How a volume is used: the access and attachment modes of jobs and volumes, and those of the protocol.

use encamp_model::{CsiMountOptions, CsiVolumeCapability, VolumeAccessMode};

use crate::proto::volume_capability::access_mode::Mode;

/// How many nodes and tasks use a volume, and whether they write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessMode {
    /// One node reads.
    SingleNodeReaderOnly,
    /// One node reads and writes.
    SingleNodeWriter,
    /// One node mounts it at one path, for reading and writing.
    SingleNodeSingleWriter,
    /// One node mounts it at several paths, for reading and writing.
    SingleNodeMultiWriter,
    /// Several nodes read.
    MultiNodeReaderOnly,
    /// Several nodes read, one of them writes.
    MultiNodeSingleWriter,
    /// Several nodes read and write.
    MultiNodeMultiWriter,
}

impl AccessMode {
    /// The mode that a job, a volume or a claim names; `None`: plugins have no such mode.
    pub fn of(mode: &VolumeAccessMode) -> Option<AccessMode> {
        Some(match mode {
            VolumeAccessMode::SingleNodeReaderOnly => AccessMode::SingleNodeReaderOnly,
            VolumeAccessMode::SingleNodeWriter => AccessMode::SingleNodeWriter,
            VolumeAccessMode::SingleNodeSingleWriter => AccessMode::SingleNodeSingleWriter,
            VolumeAccessMode::SingleNodeMultiWriter => AccessMode::SingleNodeMultiWriter,
            VolumeAccessMode::MultiNodeReaderOnly => AccessMode::MultiNodeReaderOnly,
            VolumeAccessMode::MultiNodeSingleWriter => AccessMode::MultiNodeSingleWriter,
            VolumeAccessMode::MultiNodeMultiWriter => AccessMode::MultiNodeMultiWriter,
            VolumeAccessMode::Unset | VolumeAccessMode::Other(_) => return None,
        })
    }

    /// Whether some user of the volume may write.
    pub const fn writes(self) -> bool {
        !matches!(self, AccessMode::SingleNodeReaderOnly | AccessMode::MultiNodeReaderOnly)
    }

    /// Whether several nodes may use the volume at a time.
    pub const fn many_nodes(self) -> bool {
        match self {
            AccessMode::MultiNodeReaderOnly | AccessMode::MultiNodeSingleWriter | AccessMode::MultiNodeMultiWriter => {
                true
            }
            AccessMode::SingleNodeReaderOnly
            | AccessMode::SingleNodeWriter
            | AccessMode::SingleNodeSingleWriter
            | AccessMode::SingleNodeMultiWriter => false,
        }
    }

    /// Whether the plugin must have the capability `SINGLE_NODE_MULTI_WRITER`, as controller and as node.
    pub const fn needs_single_node_multi_writer(self) -> bool {
        matches!(self, AccessMode::SingleNodeSingleWriter | AccessMode::SingleNodeMultiWriter)
    }

    pub(crate) const fn mode(self) -> Mode {
        match self {
            AccessMode::SingleNodeReaderOnly => Mode::SingleNodeReaderOnly,
            AccessMode::SingleNodeWriter => Mode::SingleNodeWriter,
            AccessMode::SingleNodeSingleWriter => Mode::SingleNodeSingleWriter,
            AccessMode::SingleNodeMultiWriter => Mode::SingleNodeMultiWriter,
            AccessMode::MultiNodeReaderOnly => Mode::MultiNodeReaderOnly,
            AccessMode::MultiNodeSingleWriter => Mode::MultiNodeSingleWriter,
            AccessMode::MultiNodeMultiWriter => Mode::MultiNodeMultiWriter,
        }
    }
}

/// What a task gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AttachmentMode {
    /// A directory.
    FileSystem,
    /// A block device.
    BlockDevice,
}

impl AttachmentMode {
    /// All modes.
    pub const ALL: [AttachmentMode; 2] = [AttachmentMode::FileSystem, AttachmentMode::BlockDevice];

    /// The text in jobs and volumes (`docs/spec/jobspec.md §14.11`).
    pub const fn text(self) -> &'static str {
        match self {
            AttachmentMode::FileSystem => "file-system",
            AttachmentMode::BlockDevice => "block-device",
        }
    }

    /// The mode of a text; `None` for others.
    pub fn of_text(text: &str) -> Option<AttachmentMode> {
        AttachmentMode::ALL.into_iter().find(|m| m.text() == text)
    }
}

/// What a task gets, with the options of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Attachment {
    /// A directory, mounted so.
    FileSystem(CsiMountOptions),
    /// A block device.
    BlockDevice,
}

/// A way to use a volume.
#[derive(Debug, Clone, PartialEq)]
pub struct Capability {
    /// Who uses it.
    pub access: AccessMode,
    /// What tasks get.
    pub attachment: Attachment,
}

/// A mode that no plugin knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMode {
    /// The access mode.
    #[error("unknown access mode {0:?}; the modes are {modes}", modes = access_modes())]
    Access(VolumeAccessMode),
    /// The attachment mode.
    #[error("unknown attachment mode {0:?}; the modes are file-system and block-device")]
    Attachment(String),
}

/// The texts of all access modes.
fn access_modes() -> String {
    VolumeAccessMode::ALL.iter().map(VolumeAccessMode::as_str).collect::<Vec<_>>().join(", ")
}

impl Capability {
    /// The capability that a volume or a claim describes by texts. Mount options are of no meaning for block devices.
    ///
    /// # Errors
    /// A text is no mode.
    pub fn new(modes: &CsiVolumeCapability, options: Option<&CsiMountOptions>) -> Result<Capability, UnknownMode> {
        let access =
            AccessMode::of(&modes.access_mode).ok_or_else(|| UnknownMode::Access(modes.access_mode.clone()))?;
        let attachment = match AttachmentMode::of_text(&modes.attachment_mode) {
            Some(AttachmentMode::FileSystem) => Attachment::FileSystem(options.cloned().unwrap_or_default()),
            Some(AttachmentMode::BlockDevice) => Attachment::BlockDevice,
            None => return Err(UnknownMode::Attachment(modes.attachment_mode.clone())),
        };
        Ok(Capability { access, attachment })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_texts() {
        for mode in VolumeAccessMode::ALL {
            let name = AccessMode::of(mode).expect("a mode").mode().as_str_name().to_lowercase().replace('_', "-");
            assert_eq!(mode.as_str(), name, "the names of the protocol");
        }
        for mode in AttachmentMode::ALL {
            assert_eq!(AttachmentMode::of_text(mode.text()), Some(mode));
        }
        assert_eq!((AccessMode::of(&VolumeAccessMode::Unset), AttachmentMode::of_text("block")), (None, None));
    }

    #[test]
    fn modes_say_what_they_allow() {
        let all = || VolumeAccessMode::ALL.iter().filter_map(AccessMode::of);
        let which = |f: fn(AccessMode) -> bool| Vec::from_iter(all().filter(|m| f(*m)));
        assert_eq!(which(|m| !m.writes()), [AccessMode::SingleNodeReaderOnly, AccessMode::MultiNodeReaderOnly]);
        assert!(which(AccessMode::many_nodes).iter().all(|m| m.mode().as_str_name().starts_with("MULTI_NODE")));
        assert_eq!(which(AccessMode::many_nodes).len(), 3);
        assert_eq!(
            which(AccessMode::needs_single_node_multi_writer),
            [AccessMode::SingleNodeSingleWriter, AccessMode::SingleNodeMultiWriter]
        );
    }

    #[test]
    fn capabilities_are_made_of_texts() {
        let texts = |access: &str, attachment: &str| CsiVolumeCapability {
            access_mode: access.into(),
            attachment_mode: attachment.into(),
        };
        let options = CsiMountOptions { fs_type: "ext4".into(), ..Default::default() };
        let made = Capability::new(&texts("single-node-writer", "file-system"), Some(&options));
        let attachment = Attachment::FileSystem(options.clone());
        assert_eq!(made, Ok(Capability { access: AccessMode::SingleNodeWriter, attachment }));
        let made = Capability::new(&texts("multi-node-multi-writer", "block-device"), Some(&options));
        let attachment = Attachment::BlockDevice;
        assert_eq!(made, Ok(Capability { access: AccessMode::MultiNodeMultiWriter, attachment }));
        let odd = Capability::new(&texts("odd", "file-system"), None);
        assert_eq!(odd, Err(UnknownMode::Access("odd".into())));
        let odd = Capability::new(&texts("single-node-writer", ""), None);
        assert_eq!(odd, Err(UnknownMode::Attachment(String::new())));
    }
}
