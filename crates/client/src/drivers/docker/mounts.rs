//! The mounts of a container: the directories of its allocation, volumes, and what its `config` block mounts
//! (`docs/spec/client.md §23.3`).
//!
//! Without `volumes.enabled`, a task can mount its own directory and the shared one of its allocation, but nothing else
//! of the host, whatever links it made there.

use std::io;
use std::path::{Component, Path, PathBuf};

use bollard::models::{
    HostConfig, Mount, MountBindOptions, MountBindOptionsPropagationEnum, MountTmpfsOptions, MountType,
    MountVolumeOptions, MountVolumeOptionsDriverConfig,
};

use super::super::network::TaskNetwork;
use super::super::{Propagation, StartTask};
use super::network_holder::Holder;
use super::task_config::{MountConfig, MountKind, TaskConfig};
use crate::config::docker::DockerConfig;
use crate::directory::{Directory, Links, PathError};

/// Options of a volume.
const OPTIONS: [&str; 14] = [
    "ro",
    "rw",
    "z",
    "Z",
    "nocopy",
    "private",
    "rprivate",
    "slave",
    "rslave",
    "shared",
    "rshared",
    "cached",
    "delegated",
    "consistent",
];
/// The directory of a task that only the agent uses.
const PRIVATE: &str = "private";
/// A directory without files; in the private one.
const EMPTY: &str = "empty";

/// The mode of a file system in memory that names none: as Docker has it.
const TMPFS_MODE: i64 = 0o1777;

/// Why something is not mounted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MountError {
    /// A volume without two parts.
    #[error("invalid volume {0:?}: it has to be source:target or source:target:options")]
    Volume(String),
    /// An option that there is not.
    #[error("invalid volume {volume:?}: {option:?} is no option")]
    Option {
        /// The volume.
        volume: String,
        /// Its option.
        option: String,
    },
    /// A path of the host.
    #[error("volumes are not enabled; cannot mount host path: {0:?}")]
    HostPath(String),
    /// A driver of volumes.
    #[error("volumes are not enabled; cannot use volume driver {0:?}")]
    Driver(String),
    /// A mode of propagation that there is not.
    #[error("{0:?} is no propagation of mounts")]
    Propagation(String),
    /// A path of the allocation can't be used.
    #[error("cannot mount {path:?}: {source}")]
    Path {
        /// The path, as the task has it.
        path: String,
        /// Why.
        source: PathError,
    },
}

/// Which part of its allocation a task mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All of the task's directory, with that of the agent, which is covered.
    Task,
    /// All of the shared directory, with the logs, which are mounted read-only.
    Shared,
    /// The logs, or one of them: only read.
    Logs,
    /// Any other directory or file.
    Other,
}

/// Puts the mounts of a container into its settings.
pub(super) fn apply(
    host: &mut HostConfig,
    config: &DockerConfig,
    task: &TaskConfig,
    start: &StartTask,
) -> Result<(), MountError> {
    let own = start.task_dir();
    let label = |options: &str| match (options, config.selinux_label.as_str()) {
        ("", "") => String::new(),
        ("", label) | (label, "") => format!(":{label}"),
        (options, label) => format!(":{options},{label}"),
    };
    let bind = |from: &Path, to: &str, options: &str| format!("{}:{to}{}", from.display(), label(options));
    let mut binds = vec![
        bind(&start.alloc_dir.join("alloc"), "/alloc", ""),
        bind(&own.join("local"), "/local", ""),
        bind(&own.join("secrets"), "/secrets", ""),
        bind(&start.alloc_dir.join("alloc/logs"), "/alloc/logs", "ro"),
    ];
    if Holder::of_task(task, start).is_some() {
        for (name, path) in etc(start)? {
            binds.push(bind(&path, &format!("/etc/{name}"), "ro"));
        }
    }
    let mut mounts: Vec<Mount> = start.mounts.iter().map(given).collect();
    let mut targets = Vec::new();
    for volume in &task.volumes {
        let (text, target, part) = self::volume(config, task, start, volume, &label)?;
        binds.push(text);
        targets.push((target, part));
    }
    for m in &task.mounts {
        let (mount, part) = mount(config, start, m)?;
        mounts.push(mount);
        targets.push((m.target.clone(), part));
    }
    for (target, part) in targets {
        let below = |name: &str| format!("{}/{name}", target.trim_end_matches('/'));
        match part {
            Part::Shared => binds.push(bind(&start.alloc_dir.join("alloc/logs"), &below("logs"), "ro")),
            Part::Task => binds.push(bind(&empty(start)?, &below(PRIVATE), "ro")),
            Part::Logs | Part::Other => {}
        }
    }
    host.binds = Some(binds);
    host.mounts = Some(mounts).filter(|m| !m.is_empty());
    host.volume_driver = (!task.volume_driver.is_empty()).then(|| task.volume_driver.clone());
    Ok(())
}

/// The directory of a task that only the agent uses.
fn private(start: &StartTask) -> Result<Directory, PathError> {
    let task = Directory::open(&start.alloc_dir)?.open_dir(&start.task, Links::Refused)?;
    task.make_dir(PRIVATE, 0o700, None)
}

/// Writes the files of `/etc` by which the task knows the network of its allocation, where the task can't change them.
fn etc(start: &StartTask) -> Result<Vec<(String, PathBuf)>, MountError> {
    let files = start.network.files();
    let written = match files.is_empty() {
        true => Ok(()),
        false => private(start).and_then(|private| TaskNetwork::write_files(&private, &files)),
    };
    written.map_err(|source| MountError::Path { path: "/etc".into(), source })?;
    let below = start.task_dir().join(PRIVATE);
    Ok(files.into_iter().map(|(name, _)| (name.clone(), below.join(name))).collect())
}

/// A mount that the agent gives the task, such as a volume.
fn given(m: &super::super::Mount) -> Mount {
    let propagation = match m.propagation {
        Propagation::Private => None,
        Propagation::HostToTask => Some(MountBindOptionsPropagationEnum::RSLAVE),
        Propagation::Bidirectional => Some(MountBindOptionsPropagationEnum::RSHARED),
    };
    Mount {
        typ: Some(MountType::BIND),
        source: Some(m.host.display().to_string()),
        target: Some(Path::new("/").join(&m.task).display().to_string()),
        read_only: Some(m.read_only),
        bind_options: propagation.map(|p| MountBindOptions { propagation: Some(p), ..MountBindOptions::default() }),
        ..Mount::default()
    }
}

/// Makes a directory that stays empty. It covers others: a file system in memory would not do, as Podman copies what it
/// covers.
fn empty(start: &StartTask) -> Result<PathBuf, MountError> {
    let made = private(start).and_then(|private| private.make_dir(EMPTY, 0o555, None));
    let path = start.task_dir().join(PRIVATE).join(EMPTY);
    made.map_err(|source| MountError::Path { path: format!("{PRIVATE}/{EMPTY}"), source }).map(|_| path)
}

/// A volume of the form `source:target[:options]`, as the daemon gets it; its target, and what it is a part of.
fn volume(
    config: &DockerConfig,
    task: &TaskConfig,
    start: &StartTask,
    volume: &str,
    label: &dyn Fn(&str) -> String,
) -> Result<(String, String, Part), MountError> {
    let parts: Vec<&str> = volume.split(':').collect();
    let (source, target, options) = match parts.as_slice() {
        [source, target] => (*source, *target, ""),
        [source, target, options] => (*source, *target, *options),
        _ => return Err(MountError::Volume(volume.into())),
    };
    if source.is_empty() || !target.starts_with('/') {
        return Err(MountError::Volume(volume.into()));
    }
    if let Some(option) = options.split(',').find(|o| !o.is_empty() && !OPTIONS.contains(o)) {
        return Err(MountError::Option { volume: volume.into(), option: option.into() });
    }
    let (source, part) = match task.volume_driver.as_str() {
        "" => {
            let (path, part) = self::source(config, start, source)?;
            (path.display().to_string(), part)
        }
        _ if config.volumes_enabled => (source.to_string(), Part::Other),
        driver => return Err(MountError::Driver(driver.into())),
    };
    // What a link leads to may have colons, too.
    if task.volume_driver.is_empty() && source.contains(':') {
        return Err(MountError::Volume(volume.into()));
    }
    let options = match part {
        Part::Logs => {
            let others = options.split(',').filter(|o| !matches!(*o, "" | "rw" | "ro"));
            others.chain(["ro"]).collect::<Vec<_>>().join(",")
        }
        Part::Task | Part::Shared | Part::Other => options.into(),
    };
    Ok((format!("{source}:{target}{}", label(&options)), target.into(), part))
}

/// The path of the host that a task means, and what it is a part of.
fn source(config: &DockerConfig, start: &StartTask, path: &str) -> Result<(PathBuf, Part), MountError> {
    let of_host = |host: PathBuf| match config.volumes_enabled {
        true => Ok((host, Part::Other)),
        false => Err(MountError::HostPath(path.into())),
    };
    if Path::new(path).is_absolute() {
        return of_host(path.into());
    }
    let wrong = |source: PathError| MountError::Path { path: path.into(), source };
    let root = Directory::open(&start.alloc_dir).map_err(|e| wrong(e.into()))?;
    let inside = Path::new(&start.task).join(path);
    let real = match found_or_made(&root, &inside) {
        Ok(real) => real,
        Err(PathError::Escapes) => return of_host(start.task_dir().join(path)),
        Err(e) => return Err(wrong(e)),
    };
    let mut names = real.components().map(Component::as_os_str);
    let (first, second) = (names.next(), names.next());
    let own = first.is_some_and(|n| n == start.task.as_str()) && second.is_none_or(|n| n != PRIVATE);
    let shared = first.is_some_and(|n| n == "alloc");
    // Neighbours keep their secrets.
    if !own && !shared {
        return Err(MountError::HostPath(path.into()));
    }
    let part = match second {
        None if shared => Part::Shared,
        None => Part::Task,
        Some(name) if shared && name == "logs" => Part::Logs,
        Some(_) => Part::Other,
    };
    Ok((start.alloc_dir.join(real), part))
}

/// The path below a directory, after all links; directories that are missing are made.
fn found_or_made(root: &Directory, path: &Path) -> Result<PathBuf, PathError> {
    let mut so_far = PathBuf::new();
    for part in path.components() {
        let parent = so_far.clone();
        so_far.push(part);
        match root.entry(&so_far, Links::Inside) {
            Ok(_) => {}
            Err(PathError::Io(e)) if e.kind() == io::ErrorKind::NotFound => {
                let Component::Normal(name) = part else { return Err(PathError::Io(e)) };
                let name = name.to_str().ok_or(PathError::Escapes)?;
                let at = if parent.as_os_str().is_empty() { Path::new(".") } else { parent.as_path() };
                root.open_dir(at, Links::Inside)?.make_dir(name, 0o777, None)?;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(root.entry(path, Links::Inside)?.real)
}

fn propagation(name: &str) -> Result<Option<MountBindOptionsPropagationEnum>, MountError> {
    use MountBindOptionsPropagationEnum as P;
    Ok(Some(match name {
        "" => return Ok(None),
        "private" => P::PRIVATE,
        "rprivate" => P::RPRIVATE,
        "shared" => P::SHARED,
        "rshared" => P::RSHARED,
        "slave" => P::SLAVE,
        "rslave" => P::RSLAVE,
        other => return Err(MountError::Propagation(other.into())),
    }))
}

/// A mount as the daemon gets it, and what it is a part of.
fn mount(config: &DockerConfig, start: &StartTask, m: &MountConfig) -> Result<(Mount, Part), MountError> {
    let plain = Mount { target: Some(m.target.clone()), read_only: Some(m.read_only), ..Mount::default() };
    let mount = match &m.kind {
        MountKind::Bind { propagation: mode } => {
            let (source, part) = source(config, start, &m.source)?;
            let bind = Mount {
                typ: Some(MountType::BIND),
                source: Some(source.display().to_string()),
                read_only: Some(m.read_only || part == Part::Logs),
                bind_options: propagation(mode)?
                    .map(|p| MountBindOptions { propagation: Some(p), ..MountBindOptions::default() }),
                ..plain
            };
            return Ok((bind, part));
        }
        MountKind::Volume { no_copy, labels, driver, options } => {
            // Options of a volume can make it any directory or device of the host.
            if !config.volumes_enabled && (!options.is_empty() || !matches!(driver.as_str(), "" | "local")) {
                return Err(MountError::Driver(if driver.is_empty() { "local".into() } else { driver.clone() }));
            }
            let map = |m: &std::collections::BTreeMap<String, String>| m.clone().into_iter().collect();
            let driver = (!driver.is_empty() || !options.is_empty()).then(|| MountVolumeOptionsDriverConfig {
                name: Some(driver.clone()).filter(|d| !d.is_empty()),
                options: Some(map(options)),
            });
            // A path in place of a name would be mounted as it is.
            if m.source.contains('/') && !config.volumes_enabled {
                return Err(MountError::HostPath(m.source.clone()));
            }
            Mount {
                typ: Some(MountType::VOLUME),
                source: Some(m.source.clone()).filter(|s| !s.is_empty()),
                volume_options: Some(MountVolumeOptions {
                    no_copy: Some(*no_copy),
                    labels: Some(map(labels)),
                    driver_config: driver,
                    ..MountVolumeOptions::default()
                }),
                ..plain
            }
        }
        MountKind::Tmpfs { size, mode } => Mount {
            typ: Some(MountType::TMPFS),
            tmpfs_options: Some(MountTmpfsOptions {
                size_bytes: (*size > 0).then_some(*size),
                // Podman takes none as a mode without any right.
                mode: Some(if *mode > 0 { *mode } else { TMPFS_MODE }),
                ..MountTmpfsOptions::default()
            }),
            ..plain
        },
    };
    Ok((mount, Part::Other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    struct Place(TempDir, StartTask);

    fn place() -> Place {
        let dir = TempDir::new("mounts");
        for name in ["alloc/data", "t/local", "t/private", "other/secrets"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink("/etc", dir.path().join("t/local/out")).unwrap();
        let start = StartTask { alloc_dir: dir.path().into(), task: "t".into(), ..StartTask::default() };
        Place(dir, start)
    }

    impl Place {
        fn volumes(&self, config: &DockerConfig, volume: &str) -> Result<String, MountError> {
            let task = TaskConfig { volumes: vec![volume.into()], ..TaskConfig::default() };
            let mut host = HostConfig::default();
            apply(&mut host, config, &task, &self.1)?;
            Ok(host.binds.unwrap().pop().unwrap())
        }

        fn mount(&self, kind: MountKind, source: &str) -> Result<Mount, MountError> {
            let m = MountConfig { kind, source: source.into(), target: "/x".into(), read_only: false };
            mount(&DockerConfig::default(), &self.1, &m).map(|(mount, _)| mount)
        }

        /// All directories that a task with that volume gets: source, target and options.
        fn all(&self, volume: &str) -> Vec<String> {
            let task = TaskConfig { volumes: vec![volume.into()], ..TaskConfig::default() };
            let mut host = HostConfig::default();
            apply(&mut host, &DockerConfig::default(), &task, &self.1).unwrap();
            host.binds.unwrap()
        }
    }

    #[test]
    fn whole_directories_come_without_what_is_the_agents() {
        let p = place();
        std::fs::create_dir(p.0.path().join("alloc/logs")).unwrap();
        let logs = p.0.path().join("alloc/logs").display().to_string();
        let binds = p.all("../alloc:/x/");
        assert!(binds.contains(&format!("{logs}:/x/logs:ro")), "{binds:?}");
        let binds = p.all("../alloc/logs:/x:rw,z");
        assert_eq!(binds.last(), Some(&format!("{logs}:/x:z,ro")));
        for path in [".", "local/.."] {
            let binds = p.all(&format!("{path}:/x"));
            let empty = p.0.path().join("t/private/empty");
            assert_eq!(binds.last(), Some(&format!("{}:/x/private:ro", empty.display())));
            assert!(empty.is_dir());
        }
        let bind = MountKind::Bind { propagation: String::new() };
        assert_eq!(p.mount(bind, "../alloc/logs").unwrap().read_only, Some(true));
    }

    #[test]
    fn tasks_mount_what_is_theirs() {
        let p = place();
        let config = DockerConfig::default();
        let inside = |path: &str, rest: &str| format!("{}{rest}", p.0.path().join(path).display());
        assert_eq!(p.volumes(&config, "local/new/dir:/x:ro").unwrap(), inside("t/local/new/dir", ":/x:ro"));
        assert!(p.0.path().join("t/local/new/dir").is_dir());
        assert_eq!(p.volumes(&config, "../alloc/data:/x").unwrap(), inside("alloc/data", ":/x"));
        for path in
            ["/etc", "../../x", "local/out", "local/out/ssh", "../other/secrets", "private", "..", "local/../private"]
        {
            let error = p.volumes(&config, &format!("{path}:/x")).unwrap_err().to_string();
            assert_eq!(error, format!("volumes are not enabled; cannot mount host path: {path:?}"));
        }
        for wrong in ["/x", "a:b", ":/x", "a:/b:ro:more", "a:/b:dev"] {
            assert!(p.volumes(&config, wrong).unwrap_err().to_string().starts_with("invalid volume"), "{wrong}");
        }
        std::fs::create_dir(p.0.path().join("t/local/a:b")).unwrap();
        std::os::unix::fs::symlink("a:b", p.0.path().join("t/local/colon")).unwrap();
        assert!(p.volumes(&config, "local/colon:/x").unwrap_err().to_string().starts_with("invalid volume"));
        let open = DockerConfig { volumes_enabled: true, selinux_label: "z".into(), ..config };
        assert_eq!(p.volumes(&open, "/etc:/x:ro").unwrap(), "/etc:/x:ro,z");
    }

    #[test]
    fn mounts_of_the_host_are_refused() {
        let p = place();
        let bind = || MountKind::Bind { propagation: String::new() };
        assert!(p.mount(bind(), "/etc").is_err() && p.mount(bind(), "local/out").is_err());
        assert!(p.mount(bind(), "local").is_ok());
        let mode = |mode| p.mount(MountKind::Tmpfs { size: 0, mode }, "").unwrap().tmpfs_options.unwrap().mode;
        assert_eq!((mode(0), mode(0o700)), (Some(0o1777), Some(0o700)));
        let volume = |options: &[(&str, &str)]| MountKind::Volume {
            no_copy: false,
            labels: Default::default(),
            driver: "local".into(),
            options: options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        };
        assert!(p.mount(volume(&[]), "name").is_ok());
        let error = p.mount(volume(&[("o", "bind"), ("device", "/etc")]), "name").unwrap_err().to_string();
        assert_eq!(error, "volumes are not enabled; cannot use volume driver \"local\"");
        assert!(p.mount(volume(&[]), "/etc").is_err());
        assert!(p.mount(MountKind::Bind { propagation: "up".into() }, "local").is_err());
    }
}
