//! A container image: an archive in the layout of the Open Container Initiative with one layer, made without a daemon.
//! It holds the program and nothing else that runs, so the program must be linked statically.

use serde_json::{Value, json};

use crate::archive::{gzip, tar, with_directories};
use crate::checksums::sha256;
use crate::contents::Entry;
use crate::failure::Outcome;
use crate::release::Facts;

/// The number of the user and the group that the program runs as.
const USER: u32 = 65_532;

/// The archive of the image. Podman and Docker load it; `skopeo` copies it to a registry.
///
/// # Errors
/// A part cannot be written.
pub(crate) fn archive(facts: &Facts, program: &[u8]) -> Outcome<Vec<u8>> {
    let layer = tar(&layer(program), "", facts.epoch)?;
    let packed = gzip(&layer)?;
    let config = json!({
        "architecture": facts.architecture.oci,
        "os": "linux",
        "created": facts.time(),
        "config": {
            "User": format!("{USER}:{USER}"),
            "Entrypoint": ["/usr/bin/encamp"],
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/work",
            "Labels": {
                "org.opencontainers.image.title": "encamp",
                "org.opencontainers.image.version": facts.version,
                "org.opencontainers.image.revision": facts.commit,
                "org.opencontainers.image.licenses": "MPL-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))]},
        "history": [{"created": facts.time(), "created_by": "cargo xtask release"}],
    });
    let config = serde_json::to_vec(&config)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &packed)],
    });
    let manifest = serde_json::to_vec(&manifest)?;
    let mut listed = descriptor("application/vnd.oci.image.manifest.v1+json", &manifest);
    listed["platform"] = json!({"architecture": facts.architecture.oci, "os": "linux"});
    listed["annotations"] = json!({"org.opencontainers.image.ref.name": format!("encamp:{}", facts.version)});
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [listed],
    });
    let blob = |bytes: Vec<u8>| Entry::file(format!("blobs/sha256/{}", sha256(&bytes)), 0o644, bytes);
    let entries = vec![
        Entry::file("oci-layout", 0o644, r#"{"imageLayoutVersion":"1.0.0"}"#),
        Entry::file("index.json", 0o644, serde_json::to_vec(&index)?),
        blob(config),
        blob(manifest),
        blob(packed),
    ];
    tar(&with_directories(entries), "", facts.epoch)
}

/// The files of the image.
fn layer(program: &[u8]) -> Vec<Entry> {
    let users =
        format!("root:x:0:0:root:/:/sbin/nologin\nencamp:x:{USER}:{USER}:encamp:/var/lib/encamp:/sbin/nologin\n");
    let groups = format!("root:x:0:\nencamp:x:{USER}:\n");
    let own = |path: &str, mode: u32| Entry { id: USER, ..Entry::directory(path, mode) };
    with_directories(vec![
        Entry::file("usr/bin/encamp", 0o755, program),
        Entry::file("etc/passwd", 0o644, users),
        Entry::file("etc/group", 0o644, groups),
        Entry::directory("tmp", 0o1777),
        own("var/lib/encamp", 0o750),
        own("work", 0o755),
    ])
}

fn descriptor(kind: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": kind, "digest": format!("sha256:{}", sha256(bytes)), "size": bytes.len()})
}
