//! Files and paths: `abspath basename dirname file filebase64 fileexists fileset pathexpand`. Relative paths are
//! relative to the context's working directory; where file functions are switched off, all of these fail.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::FunctionContext;
use super::encoding::encode_base64;
use super::glob::{self, Segment};
use super::support::{Args, Failure, Function, Kind, function, p};
use crate::types::Type;
use crate::value::{MAX_BYTES, Value};

/// Most directory entries `fileset` looks at.
const MAX_ENTRIES: usize = 200_000;
/// Deepest directory `fileset` descends to.
const MAX_DEPTH: usize = 64;

const PATH: &[super::support::Parameter] = &[p("path", Kind::String)];

pub(crate) const FUNCTIONS: &[Function] = &[
    function("abspath", PATH, |args, context| {
        enabled(context)?;
        let path = absolute(context, &clean(args.text(0)?));
        Ok(Value::string(clean(&path.to_string_lossy()))?)
    }),
    function("basename", PATH, |args, context| {
        enabled(context)?;
        let path = args.text(0)?;
        let trimmed = path.trim_end_matches('/');
        let last = trimmed.rsplit('/').next().unwrap_or_default();
        Ok(Value::string(match (path, last) {
            ("", _) => ".",
            (_, "") => "/",
            (_, last) => last,
        })?)
    }),
    function("dirname", PATH, |args, context| {
        enabled(context)?;
        let path = args.text(0)?;
        let directory = path.rfind('/').and_then(|slash| path.get(..=slash)).unwrap_or_default();
        Ok(Value::string(clean(directory))?)
    }),
    function("file", PATH, |args, context| {
        let path = resolve(args, context)?;
        let text = String::from_utf8(path.read()?).map_err(|_| {
            format!(
                "contents of {} are not valid UTF-8; use the filebase64 function to obtain the Base64 encoded contents",
                path.shown
            )
        })?;
        Ok(Value::string(text)?)
    }),
    function("filebase64", PATH, |args, context| Ok(Value::string(encode_base64(&resolve(args, context)?.read()?))?)),
    function("fileexists", PATH, |args, context| {
        let path = resolve(args, context)?;
        match fs::metadata(&path.real) {
            Ok(metadata) if metadata.is_file() => Ok(true.into()),
            Ok(_) => Err(format!("{} is not a regular file", path.shown).into()),
            Err(error) if missing(&error) => Ok(false.into()),
            Err(error) => Err(format!("failed to stat {}: {error}", path.shown).into()),
        }
    }),
    function("fileset", &[p("path", Kind::String), p("pattern", Kind::String)], fileset),
    function("pathexpand", PATH, |args, context| {
        enabled(context)?;
        Ok(Value::string(expand_home(args.text(0)?, context)?)?)
    }),
];

fn enabled(context: &FunctionContext) -> Result<(), Failure> {
    if context.allow_fs { Ok(()) } else { Err("filesystem function disabled".into()) }
}

fn missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// A file argument: where it is, and how texts show it.
struct FilePath {
    real: PathBuf,
    shown: String,
}

fn resolve(args: &Args, context: &FunctionContext) -> Result<FilePath, Failure> {
    enabled(context)?;
    let shown = clean(&expand_home(args.text(0)?, context)?);
    Ok(FilePath { real: absolute(context, &shown), shown })
}

fn absolute(context: &FunctionContext, path: &str) -> PathBuf {
    context.working_dir.join(path)
}

impl FilePath {
    fn read(&self) -> Result<Vec<u8>, Failure> {
        let failed = |error: std::io::Error| match missing(&error) {
            true => format!("no file exists at {}", self.shown),
            false => format!("failed to read {}: {error}", self.shown),
        };
        // Opening a pipe would wait for its other end.
        if !fs::metadata(&self.real).map_err(failed)?.is_file() {
            return Err(format!("failed to read {}: it is not a regular file", self.shown).into());
        }
        let file = fs::File::open(&self.real).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > MAX_BYTES {
            return Err(format!("failed to read {}: the file has more than {MAX_BYTES} bytes", self.shown).into());
        }
        Ok(bytes)
    }
}

/// `~` and `~/…` with the home directory in place of `~`.
fn expand_home(path: &str, context: &FunctionContext) -> Result<String, Failure> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(path.to_string()) };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err("cannot expand user-specific home dir".into());
    }
    let home = context.home_dir.as_ref().ok_or("the home directory is not known")?;
    let home = home.to_string_lossy();
    Ok(if rest.is_empty() { home.to_string() } else { clean(&format!("{home}/{rest}")) })
}

/// The path without `.`, doubled slashes and `..` where it can be resolved; never empty.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_string(),
        (false, false) => parts.join("/"),
    }
}

fn fileset(args: &Args, context: &FunctionContext) -> Result<Value, Failure> {
    let base = resolve(args, context)?;
    let pattern = clean(&format!("{}/{}", base.shown, args.text(1)?));
    // Literal leading segments are walked without reading their directories.
    let literal = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| literal(part)).count().min(parts.len().saturating_sub(1));
    let (fixed, rest) = parts.split_at_checked(fixed).unwrap_or((&[], &parts));
    let root = match fixed {
        [] => ".".to_string(),
        [""] => "/".to_string(),
        parts => parts.join("/"),
    };
    let segments = rest.iter().map(|part| Segment::parse(part)).collect::<Result<Vec<_>, _>>();
    let segments = segments.map_err(|error| format!("failed to glob pattern ({pattern}): {error}"))?;
    let mut walk = Walk { found: Vec::new(), entries: 0 };
    walk.directory(&absolute(context, &root), &root, &segments, 0)?;
    let relative = walk.found.iter().map(|path| Value::from(relative_to(&base.shown, path).as_str())).collect();
    Ok(Value::set(Type::String, relative)?)
}

/// A path as seen from a directory; both are clean and of the same kind.
fn relative_to(directory: &str, path: &str) -> String {
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_string).collect()
    };
    let (from, to) = (parts(directory), parts(path));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(common).map(|_| "..".to_string());
    up.chain(to.into_iter().skip(common)).collect::<Vec<String>>().join("/")
}

struct Walk {
    /// Regular files that match, as paths of the same kind as the root.
    found: Vec<String>,
    entries: usize,
}

impl Walk {
    /// Matches what is below a directory against the segments.
    fn directory(&mut self, real: &Path, shown: &str, segments: &[Segment], depth: usize) -> Result<(), Failure> {
        let Some((first, rest)) = segments.split_first() else { return Ok(()) };
        if depth > MAX_DEPTH {
            return Err(format!("directories are nested more than {MAX_DEPTH} levels deep").into());
        }
        if let (Segment::AnyDepth, false) = (first, rest.is_empty()) {
            self.directory(real, shown, rest, depth + 1)?;
        }
        let Ok(entries) = fs::read_dir(real) else { return Ok(()) };
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(format!("more than {MAX_ENTRIES} directory entries").into());
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = match shown {
                "." => name.to_string(),
                "/" => format!("/{name}"),
                shown => format!("{shown}/{name}"),
            };
            let matched = match first {
                Segment::AnyDepth => true,
                Segment::Name(pattern) => glob::matches(pattern, name),
            };
            // Links to directories are not followed below `**`, so that a walk ends.
            let link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let is_dir = entry.path().is_dir();
            match (first, is_dir) {
                (Segment::AnyDepth, true) if !link => self.directory(&entry.path(), &path, segments, depth + 1)?,
                (Segment::Name(_), true) if matched => self.directory(&entry.path(), &path, rest, depth + 1)?,
                (_, false) if matched && rest.is_empty() && entry.path().is_file() => self.found.push(path),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{check, check_json, test_context};
    use super::*;

    #[test]
    fn paths() {
        for (name, path, expected) in [
            ("basename", "/a/b/c.txt", "c.txt"),
            ("basename", "a/", "a"),
            ("basename", "", "."),
            ("basename", "//", "/"),
            ("dirname", "/a/b/c.txt", "/a/b"),
            ("dirname", "c.txt", "."),
            ("dirname", "/c.txt", "/"),
            ("dirname", "a//b/../c", "a"),
            ("pathexpand", "~/x/../y", "/home/worker/y"),
            ("pathexpand", "~", "/home/worker"),
            ("pathexpand", "a/~", "a/~"),
            ("pathexpand", "~root/x", "Call to function \"pathexpand\" failed: cannot expand user-specific home dir."),
            ("abspath", "/a/./b/../c/", "/a/c"),
        ] {
            check(name, &[path.into()], expected);
        }
        let here = clean(env!("CARGO_MANIFEST_DIR"));
        check("abspath", &["src/..".into()], &here);
    }

    #[test]
    fn files() {
        let directory = std::env::temp_dir().join(format!("encamp-filesystem-{}", std::process::id()));
        fs::create_dir_all(directory.join("sub/deep")).unwrap();
        for (name, content) in [("a.txt", b"text" as &[u8]), ("sub/b.txt", b"\xff"), ("sub/deep/c.txt", b"")] {
            fs::write(directory.join(name), content).unwrap();
        }
        let context = FunctionContext { working_dir: directory.clone(), ..test_context() };
        let call = |name: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(|text| Value::from(*text)).collect();
            match super::super::call(name, arguments, &context) {
                Ok(Value::String(text)) => text.to_string(),
                Ok(value) => super::super::json::encode(&value).unwrap(),
                Err(error) => error.to_string(),
            }
        };
        for (name, arguments, expected) in [
            ("file", &["a.txt"] as &[&str], "text"),
            ("file", &["./sub/../a.txt"], "text"),
            ("file", &["none/../no.txt"], "Call to function \"file\" failed: no file exists at no.txt."),
            ("file", &["sub"], "Call to function \"file\" failed: failed to read sub: it is not a regular file."),
            ("filebase64", &["sub/b.txt"], "/w=="),
            ("fileexists", &["a.txt"], "true"),
            ("fileexists", &["a.txt/x"], "false"),
            ("fileexists", &["sub"], "Call to function \"fileexists\" failed: sub is not a regular file."),
            ("fileset", &[".", "*.txt"], r#"["a.txt"]"#),
            ("fileset", &[".", "**/*.txt"], r#"["a.txt","sub/b.txt","sub/deep/c.txt"]"#),
            ("fileset", &[".", "**"], r#"["a.txt","sub/b.txt","sub/deep/c.txt"]"#),
            ("fileset", &["sub", "*.txt"], r#"["b.txt"]"#),
            ("fileset", &["sub", "{b,x}.t?t"], r#"["b.txt"]"#),
            ("fileset", &["sub", "../[a-b].txt"], r#"["../a.txt"]"#),
            ("fileset", &[".", "*/deep/c.txt"], r#"["sub/deep/c.txt"]"#),
            ("fileset", &[".", "a.txt"], r#"["a.txt"]"#),
            ("fileset", &["missing", "*"], "[]"),
        ] {
            assert_eq!(call(name, arguments), expected, "{name}({arguments:?})");
        }
        assert!(call("file", &["sub/b.txt"]).contains("contents of sub/b.txt are not valid UTF-8"));
        assert!(call("fileset", &[".", "[a"]).contains("failed to glob pattern ([a)"));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn switched_off() {
        let context = FunctionContext { allow_fs: false, ..test_context() };
        for function in FUNCTIONS {
            let arguments = if function.name == "fileset" { vec!["a".into(), "b".into()] } else { vec!["a".into()] };
            let error = super::super::call(function.name, arguments, &context).unwrap_err().to_string();
            let expected = format!("Call to function \"{}\" failed: filesystem function disabled.", function.name);
            assert_eq!(error, expected);
        }
        check_json("basename", r#""a/b""#, r#""b""#);
    }
}
