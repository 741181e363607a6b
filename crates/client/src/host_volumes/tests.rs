//! Tests of plugins, with programs that the tests write.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::testing::TempDir;

/// A directory with plugins and volumes.
struct Host {
    plugins: Plugins,
    dir: TempDir,
}

/// The ID of the volume of these tests.
const ID: &str = "03335ffc-c328-82b4-cae7-5a8fe6481c14";

impl Host {
    /// A host with programs: name and shell script.
    fn new(programs: &[(&str, &str)]) -> Host {
        let dir = TempDir::new("host-volumes");
        let plugin_dir = dir.path().join("plugins");
        std::fs::create_dir_all(dir.path().join("volumes")).unwrap();
        std::fs::create_dir_all(&plugin_dir).unwrap();
        for (name, script) in programs {
            let path = plugin_dir.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let node = Node { id: "n".into(), pool: "default".into() };
        let plugins = Plugins::new(dir.path().join("volumes"), Some(plugin_dir), node);
        plugins.fingerprint();
        Host { plugins, dir }
    }

    /// A host with one plugin `p`, which does this to create a volume, and notes the path that it deletes.
    fn that_creates(script: &str) -> Host {
        Host::new(&[(
            "p",
            &format!(
                r#"case "$1" in
fingerprint) echo '{{"version": "1.2.3"}}' ;;
create) {script} ;;
delete) echo "$DHV_CREATED_PATH" >> "$DHV_PLUGIN_DIR/deleted"; rm -rf "$DHV_CREATED_PATH" ;;
esac"#
            ),
        )])
    }

    fn create(&self, initial: bool) -> Result<Created, String> {
        self.plugins.create(ID, &volume(), initial).map_err(|e| e.to_string())
    }

    /// The paths that the plugin was asked to delete.
    fn deleted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("plugins/deleted")).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    fn usual(&self) -> String {
        self.dir.path().join("volumes").join(ID).display().to_string()
    }
}

fn volume() -> VolumeRecord {
    VolumeRecord {
        name: "data".into(),
        namespace: "prod".into(),
        plugin: "p".into(),
        parameters: [("key".to_string(), "a \"b\"".to_string())].into(),
        capacity_min: 5,
        capacity_max: 10,
        ..VolumeRecord::default()
    }
}

#[test]
fn programs_get_the_volume_and_answer_with_its_path() {
    let host = Host::that_creates(
        r#"env | grep ^DHV_ | sort > "$DHV_PLUGIN_DIR/env"; env | grep -v ^DHV_ > "$DHV_PLUGIN_DIR/rest"
mkdir -p "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID"
printf '{"path": "%s", "bytes": 7}' "$DHV_VOLUMES_DIR/$DHV_VOLUME_ID""#,
    );
    let attributes = host.plugins.attributes();
    assert_eq!(attributes["plugins.host_volume.p.version"], "1.2.3");
    assert_eq!(attributes["plugins.host_volume.mkdir.version"], "0.0.1");
    let created = host.create(true).unwrap();
    assert_eq!((created.path.display().to_string(), created.bytes), (host.usual(), 7));
    let dir = host.dir.path().display();
    let want = [
        "DHV_CAPACITY_MAX_BYTES=10".to_string(),
        "DHV_CAPACITY_MIN_BYTES=5".into(),
        "DHV_NAMESPACE=prod".into(),
        "DHV_NODE_ID=n".into(),
        "DHV_NODE_POOL=default".into(),
        "DHV_OPERATION=create".into(),
        r#"DHV_PARAMETERS={"key":"a \"b\""}"#.into(),
        format!("DHV_PLUGIN_DIR={dir}/plugins"),
        format!("DHV_VOLUMES_DIR={dir}/volumes"),
        format!("DHV_VOLUME_ID={ID}"),
        "DHV_VOLUME_NAME=data".into(),
    ];
    let env = std::fs::read_to_string(host.dir.path().join("plugins/env")).unwrap();
    assert_eq!(env.lines().collect::<Vec<_>>(), want);
    // The shell adds PWD, OLDPWD, SHLVL and `_` of its own.
    let rest = std::fs::read_to_string(host.dir.path().join("plugins/rest")).unwrap();
    let own = ["PATH", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(rest.lines().all(|l| own.contains(&l.split('=').next().unwrap())), "{rest}");
    host.plugins.delete(ID, &VolumeRecord { path: created.path, ..volume() }).unwrap();
    assert_eq!(host.deleted(), [host.usual()]);
}

#[test]
fn replies_that_can_not_be_used_are_errors_and_leave_nothing() {
    let cases = [
        ("echo garbage", "printed an invalid reply: expected value at line 1 column 1"),
        ("echo why >&2; echo '{}'", "missing field `path` at line 1 column 2: why"),
        ("echo '{\"path\": \"a/b\"}'", "the path \"a/b\" of its reply is not an absolute path"),
        ("echo '{\"path\": \"/tmp/../etc\"}'", "the path \"/tmp/../etc\" of its reply is not an absolute path"),
        ("echo '{\"path\": \"/nonexistent/volume\"}'", "can't be used: No such file or directory"),
        ("echo '{\"path\": \"/\", \"bytes\": -1}'", "the size of its reply is negative: -1"),
        ("head -c 70000 /dev/zero", "printed more than 65536 bytes and was killed"),
        ("kill -9 $$", "killed by signal 9"),
    ];
    for (script, wanted) in cases {
        let host = Host::that_creates(&format!("mkdir -p \"$DHV_VOLUMES_DIR/$DHV_VOLUME_ID\"; {script}"));
        let error = host.create(true).unwrap_err();
        assert!(error.starts_with("host volume plugin \"p\": create: ") && error.contains(wanted), "{error}");
        assert_eq!(host.deleted(), [host.usual()], "{script}");
        assert!(!Path::new(&host.usual()).exists(), "{script}");
        // A volume that was there before is not removed because of a failed change.
        let host = Host::that_creates(script);
        host.create(false).unwrap_err();
        assert!(host.deleted().is_empty(), "{script}");
    }
}

#[test]
fn a_program_that_fails_has_cleaned_up() {
    let host = Host::that_creates("echo no space >&2; exit 3");
    let error = host.create(true).unwrap_err();
    assert_eq!(error, "host volume plugin \"p\": create: exit status 3: no space");
    assert!(host.deleted().is_empty());
    let host = Host::that_creates("printf '%s' '{\"error\": \"quota\\nexceeded\"}'; echo noise >&2; exit 1");
    assert_eq!(host.create(true).unwrap_err(), "host volume plugin \"p\": create: exit status 1: quota exceeded");
}

#[test]
fn messages_are_bounded() {
    let host = Host::that_creates("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1");
    let error = host.create(true).unwrap_err();
    assert!((4096..4300).contains(&error.len()), "{}", error.len());
}

#[test]
fn only_programs_that_say_their_version_are_plugins() {
    let version = "echo '{\"version\": \"0.1\"}'";
    let host = Host::new(&[
        ("good", version),
        ("loud", "echo '{\"version\": \"not one\"}'"),
        ("fails", "exit 1"),
        ("mkdir", version),
        (".hidden", version),
        ("has space", version),
    ]);
    let plugins = host.dir.path().join("plugins");
    std::fs::write(plugins.join("config.json"), "{}").unwrap();
    std::fs::create_dir(plugins.join("directory")).unwrap();
    let names: Vec<_> = host.plugins.fingerprint().into_keys().collect();
    assert_eq!(names, ["plugins.host_volume.good.version", "plugins.host_volume.mkdir.version"]);
    let unknown = |plugin: &str| {
        let record = VolumeRecord { plugin: plugin.into(), ..volume() };
        host.plugins.create(ID, &record, true).unwrap_err().to_string()
    };
    for plugin in ["fails", "../plugins/good", "config.json", ""] {
        assert_eq!(unknown(plugin), format!("no such plugin: {plugin:?}"));
    }
    std::fs::remove_file(plugins.join("good")).unwrap();
    assert_eq!(unknown("good"), "no such plugin: \"good\"");
    assert_eq!(host.plugins.fingerprint().len(), 1);
}

#[test]
fn one_operation_at_a_time_per_name() {
    let host = Host::new(&[]);
    let first = host.plugins.begin("data").unwrap();
    assert!(host.plugins.begin("data").is_none() && host.plugins.begin("other").is_some());
    drop(first);
    assert!(host.plugins.begin("data").is_some());
}
