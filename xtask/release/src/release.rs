//! The order of the steps, and the facts that the files state.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contents::Documents;
use crate::failure::{Failure, Outcome, read, read_text, write};
use crate::minisign::SecretKey;
use crate::{archive, checksums, contents, deb, dependencies, documents, image, licences, program, rpm_package, sbom};

/// What to make.
#[derive(Debug)]
pub(crate) struct Request {
    /// Where the files go.
    pub(crate) out: PathBuf,
    /// A program to package; otherwise one is built.
    pub(crate) program: Option<PathBuf>,
    /// The target triple.
    pub(crate) target: String,
    /// The key that signs.
    pub(crate) sign_key: Option<PathBuf>,
    /// Where the files will be found.
    pub(crate) download_url: Option<String>,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            out: "dist".into(),
            program: None,
            target: "x86_64-unknown-linux-gnu".into(),
            sign_key: None,
            download_url: None,
        }
    }
}

/// The names of a processor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Architecture {
    /// Rust's name.
    pub(crate) rust: &'static str,
    /// Debian's name.
    pub(crate) deb: &'static str,
    /// The name in rpm packages.
    pub(crate) rpm: &'static str,
    /// The name in container images.
    pub(crate) oci: &'static str,
}

const ARCHITECTURES: [Architecture; 2] = [
    Architecture { rust: "x86_64", deb: "amd64", rpm: "x86_64", oci: "amd64" },
    Architecture { rust: "aarch64", deb: "arm64", rpm: "aarch64", oci: "arm64" },
];

/// What the files of a release state.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The version.
    pub(crate) version: String,
    /// The target triple.
    pub(crate) target: String,
    /// The processor.
    pub(crate) architecture: Architecture,
    /// The time of all files, Unix seconds.
    pub(crate) epoch: u64,
    /// The commit of the sources.
    pub(crate) commit: String,
    /// Who maintains the packages.
    pub(crate) maintainer: &'static str,
    /// What the program is, in a line.
    pub(crate) summary: String,
    /// What the program is, in a few lines.
    pub(crate) description: String,
}

impl Facts {
    /// The time in the form of RFC 3339.
    pub(crate) fn time(&self) -> String {
        let seconds = i64::try_from(self.epoch).unwrap_or(i64::MAX);
        jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
    }

    /// The start of names of files.
    pub(crate) fn stem(&self) -> String {
        let system = if self.target.contains("-linux-") {
            "linux"
        } else if self.target.contains("-apple-") {
            "macos"
        } else {
            "windows"
        };
        format!("encamp-{}-{system}-{}", self.version, self.architecture.oci)
    }
}

/// Makes all files.
///
/// # Errors
/// A step fails.
pub(crate) fn make(request: &Request) -> Outcome<()> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.ancestors().nth(2).unwrap_or(manifest);
    let facts = facts(root, &request.target)?;
    let key = request.sign_key.as_ref().map(|file| SecretKey::parse(&read_text(file)?)).transpose()?;
    let program = match &request.program {
        Some(file) => read(file)?,
        None => program::build(root, &request.target, facts.epoch)?,
    };
    let out = &request.out;
    prepare(out)?;
    let libraries = dependencies::libraries(root, &request.target)?;
    let third_party = licences::document(&libraries)?;
    let put = |name: &str, bytes: &[u8]| {
        println!("{}", out.join(name).display());
        write(&out.join(name), bytes)
    };
    put("THIRD-PARTY", &third_party)?;
    put(&format!("{}.cdx.json", facts.stem()), &sbom::document(&facts, &libraries, &program)?)?;
    put("RELEASE-NOTES.md", &documents::notes(&read_text(&root.join("CHANGELOG.md"))?, &facts.version)?)?;
    let files = Documents { third_party, program };
    let inside = format!("{}/", facts.stem());
    let entries = archive::with_directories(contents::tarball(root, &facts.target, &files)?);
    let tarball = archive::gzip(&archive::tar(&entries, &inside, facts.epoch)?)?;
    put(&format!("{}.tar.gz", facts.stem()), &tarball)?;
    if request.target.contains("-linux-") {
        let entries = contents::package(root, &files)?;
        let (version, processor) = (&facts.version, facts.architecture);
        put(&format!("encamp_{version}_{}.deb", processor.deb), &deb::package(root, &facts, &entries)?)?;
        let package = rpm_package::package(root, &facts, &entries)?;
        put(&format!("encamp-{version}-1.{}.rpm", processor.rpm), &package)?;
        put(&format!("{}.oci.tar", facts.stem()), &image::archive(&facts, &files.program)?)?;
    }
    for (name, text) in documents::recipes(root, &facts, &tarball, request.download_url.as_deref())? {
        put(&name, text.as_bytes())?;
    }
    put(&format!("{}.provenance.json", facts.stem()), &documents::provenance(root, &facts, out)?)?;
    let comment = format!("encamp {} of commit {}", facts.version, facts.commit);
    checksums::write_sums(out, key.as_ref(), &comment)
}

/// An empty directory for the files. Only files of an earlier release are removed.
fn prepare(out: &Path) -> Outcome<()> {
    if out.exists() && !out.join(checksums::SUMS).exists() {
        let empty = std::fs::read_dir(out).map_err(|e| Failure::file(out, e))?.next().is_none();
        if !empty {
            return Err(Failure::Usage(format!("{} holds other files than those of a release", out.display())));
        }
    }
    if out.exists() {
        std::fs::remove_dir_all(out).map_err(|e| Failure::file(out, e))?;
    }
    std::fs::create_dir_all(out).map_err(|e| Failure::file(out, e))
}

fn facts(root: &Path, target: &str) -> Outcome<Facts> {
    let architecture = ARCHITECTURES.into_iter().find(|a| target.starts_with(a.rust));
    let architecture = architecture.ok_or_else(|| Failure::Usage(format!("the target {target} is not supported")))?;
    let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => git(root, &["log", "-1", "--format=%ct"])?,
    };
    let epoch = epoch.parse().map_err(|_| Failure::Usage(format!("SOURCE_DATE_EPOCH {epoch:?} is no number")))?;
    Ok(Facts {
        version: env!("CARGO_PKG_VERSION").into(),
        target: target.into(),
        architecture,
        epoch,
        commit: git(root, &["rev-parse", "HEAD"])?,
        maintainer: "The encamp developers <maintainers@encamp.invalid>",
        summary: "Plan and run jobs on clusters that are scheduled as Nomad does".into(),
        description: "encamp shows what a change of a job does to a cluster before it is made, and runs\n\
                      the cluster: servers, nodes and the command line are one program."
            .into(),
    })
}

fn git(root: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new("git").args(arguments).current_dir(root).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_string()),
        Ok(output) => Err(Failure::Command(format!(
            "git {}: {}; set SOURCE_DATE_EPOCH outside of a repository",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
        Err(e) => Err(Failure::Command(format!("git: {e}"))),
    }
}
