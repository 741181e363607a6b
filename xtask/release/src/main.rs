//! `cargo xtask release`: makes the files of a release in `dist/`, and verifies them (`docs/dev/release.md`).
//!
//! All files depend on the program, the sources and `SOURCE_DATE_EPOCH` alone: made twice, they are equal.
//!
//! - [`program`]: builds the program. [`contents`]: what is installed where. [`archive`], [`deb`], [`rpm_package`],
//!   [`image`]: the formats. [`dependencies`], [`sbom`], [`licences`]: what the program is linked with.
//!   [`minisign`], [`checksums`]: signatures and sums. [`documents`]: notes, provenance and recipes.

mod archive;
mod checksums;
mod contents;
mod deb;
mod dependencies;
mod documents;
mod failure;
mod image;
mod licences;
mod minisign;
mod program;
mod release;
mod rpm_package;
mod sbom;

use std::path::PathBuf;
use std::process::ExitCode;

use failure::{Failure, Outcome};
use release::Request;

const HELP: &str = "\
Makes and verifies the files of a release.

Usage: cargo xtask release [make] [options]
       cargo xtask release verify -key FILE [DIRECTORY]
       cargo xtask release keygen FILE

Without a command, the files are made in dist/.

  make
    --out DIRECTORY       Where the files go. Default: dist
    --program FILE        Package this program instead of building one
    --target TRIPLE       Build for this target. Default: x86_64-unknown-linux-gnu, linked statically. For macOS and
                          Windows: the command line without the agent, as an archive
    --sign-key FILE       Sign SHA256SUMS with this minisign key, which must have no password
    --download-url URL    Where the files will be found; written into the recipes
  verify
    --key FILE            The public key
  keygen FILE             Write a new key to FILE, readable by its owner alone, and its public key to FILE.pub

SOURCE_DATE_EPOCH is the time of all files; without it, the time of the last commit.

Exit codes: 0 success, 1 a file cannot be made or is refused, 2 wrong usage.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure @ Failure::Usage(_)) => {
            eprint!("error: {failure}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Outcome<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["help" | "-h" | "-help" | "--help"] => {
            print!("{HELP}");
            Ok(())
        }
        ["keygen", file] => minisign::write_new_key(&PathBuf::from(file)),
        ["verify", "-key" | "--key", key] => verify(key, "dist"),
        ["verify", "-key" | "--key", key, directory] => verify(key, directory),
        ["verify" | "keygen", ..] => Err(Failure::Usage("wrong arguments".into())),
        ["make", options @ ..] | options => release::make(&request(options)?),
    }
}

fn verify(key: &str, directory: &str) -> Outcome<()> {
    let count = checksums::verify(&PathBuf::from(key), &PathBuf::from(directory))?;
    println!("{directory}: the signature and {count} files are valid");
    Ok(())
}

fn request(options: &[&str]) -> Outcome<Request> {
    let mut request = Request::default();
    let mut rest = options;
    while let [name, value, after @ ..] = rest {
        match *name {
            "--out" => request.out = value.into(),
            "--program" => request.program = Some(value.into()),
            "--target" => request.target = (*value).to_string(),
            "--sign-key" => request.sign_key = Some(value.into()),
            "--download-url" => request.download_url = Some(value.trim_end_matches('/').to_string()),
            _ => return Err(Failure::Usage(format!("there is no option {name:?}"))),
        }
        rest = after;
    }
    match rest {
        [] => Ok(request),
        [last, ..] => Err(Failure::Usage(format!("{last:?} needs a value, or is no option"))),
    }
}
