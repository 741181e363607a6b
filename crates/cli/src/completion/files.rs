//! Paths that begin with what was typed.

use std::path::Path;

use super::candidates::{Candidate, Ending};
use super::values::Files;

/// The paths that begin with `typed`, by name. Relative ones are taken from `directory`, those below `~/` from `home`.
/// Names that begin with a dot are left out until the dot is typed, and so are names that do not fit into one line of
/// text.
pub fn paths(typed: &str, files: Files, directory: &Path, home: Option<&Path>) -> Vec<Candidate> {
    let (parent, start) = typed.rfind('/').map_or(("", typed), |at| typed.split_at(at.saturating_add(1)));
    let mut found: Vec<Candidate> = Vec::new();
    match (parent, start) {
        (_, "..") | ("", "~") => found.push(candidate(format!("{typed}/"), Ending::Continues)),
        _ => {}
    }
    let searched = match (parent.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => directory.join(parent),
    };
    for entry in std::fs::read_dir(searched).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let hidden = name.starts_with('.') && !start.starts_with('.');
        if hidden || !name.starts_with(start) || name.contains(char::is_control) {
            continue;
        }
        // Follows symbolic links.
        let is_directory = std::fs::metadata(entry.path()).is_ok_and(|m| m.is_dir());
        if is_directory {
            found.push(candidate(format!("{parent}{name}/"), Ending::Continues));
        } else if fits(&name, files) {
            found.push(candidate(format!("{parent}{name}"), Ending::Complete));
        }
    }
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found
}

fn candidate(text: String, ending: Ending) -> Candidate {
    Candidate { text, description: String::new(), ending }
}

fn fits(name: &str, files: Files) -> bool {
    match files {
        Files::Any => true,
        Files::Directories => false,
        Files::Named(endings) => {
            name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && endings.contains(&ending))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: Files = Files::Named(&["hcl", "nomad", "json"]);

    #[test]
    fn what_fits_in_a_directory_is_offered() {
        let root = std::env::temp_dir().join(format!("encamp-completion-files-{}", std::process::id()));
        std::fs::create_dir_all(root.join("jobs/old")).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        for name in
            ["a.hcl", "b.json", "my job.nomad", "notes.md", ".hidden.hcl", "new\nline.hcl", "jobs/c.hcl", ".hcl"]
        {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("jobs", root.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("broken.hcl")).unwrap();
        let list = |typed: &str, files| {
            let found = paths(typed, files, &root, Some(&root.join("jobs")));
            found.into_iter().map(|c| c.text).collect::<Vec<_>>().join("|")
        };
        let rooted = format!("{}/jobs/", root.display());
        let got: Vec<String> = [
            list("", JOBS),
            list("", Files::Any),
            list("", Files::Directories),
            list(".", JOBS),
            list("..", JOBS),
            list("my", JOBS),
            list("./a", JOBS),
            list("jobs/", JOBS),
            list("~", JOBS),
            list("~/", JOBS),
            list("link/o", JOBS),
            list(&rooted, JOBS).replace(&rooted, "ROOT/"),
            list("nowhere/", JOBS),
            list("n", JOBS),
        ]
        .into();
        std::fs::remove_dir_all(&root).unwrap();
        let want = [
            "a.hcl|b.json|broken.hcl|jobs/|link/|my job.nomad",
            "a.hcl|b.json|broken.hcl|jobs/|link/|my job.nomad|notes.md",
            "jobs/|link/",
            ".git/|.hidden.hcl",
            "../",
            "my job.nomad",
            "./a.hcl",
            "jobs/c.hcl|jobs/old/",
            "~/",
            "~/c.hcl|~/old/",
            "link/old/",
            "ROOT/c.hcl|ROOT/old/",
            "",
            "",
        ];
        assert_eq!(got, want);
    }
}
