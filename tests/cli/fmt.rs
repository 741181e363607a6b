//! `fmt` through the real program.

use crate::oracle;
use std::path::Path;

use crate::program::{Folder, Ran, run_in, run_with};

const UGLY: &str = "job \"x\" {\ngroup \"g\" { # keep\n count=1\n}\n}\n";
const NEAT: &str = "job \"x\" {\n  group \"g\" { # keep\n    count = 1\n  }\n}\n";
const BROKEN: &str = "job \"x\" {\n group=\n}\n";

fn printed(ran: &Ran) -> (&str, &str, i32) {
    (&ran.stdout, &ran.stderr, ran.exit)
}

fn content(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// The names in a folder, to see that nothing is left behind.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_rewritten_and_listed_once() {
    let folder = Folder::new("fmt-write");
    let (one, two) = (folder.file("one.nomad", UGLY), folder.file("two.hcl", NEAT));
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "one.nomad", "two.hcl"])), ("one.nomad\n", "", 0));
    assert_eq!((content(&one), content(&two)), (NEAT.into(), NEAT.into()));
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "one.nomad", "two.hcl"])), ("", "", 0));
    assert_eq!(names(folder.path()), ["one.nomad", "two.hcl"]);
}

#[test]
fn flags_choose_between_writing_listing_and_printing() {
    let folder = Folder::new("fmt-flags");
    let file = folder.file("x.hcl", UGLY);
    for (flags, stdout, exit) in [
        (&["-check"][..], "x.hcl\n", 1),
        (&["-check", "-write=true"], "x.hcl\n", 1),
        (&["-check", "-list=false"], "", 1),
        (&["-write=false"], "x.hcl\n", 0),
        (&["-write=false", "-check"], "x.hcl\n", 1),
        (&["-list=false", "-write=false"], NEAT, 0),
        (&["-list=false", "-write=false", "-check"], NEAT, 1),
    ] {
        let args: Vec<&str> = ["fmt"].iter().chain(flags).chain(&["x.hcl"]).copied().collect();
        assert_eq!(printed(&run_in(folder.path(), &args)), (stdout, "", exit), "{flags:?}");
        assert_eq!(content(&file), UGLY, "{flags:?}");
    }
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-list=false", "x.hcl"])), ("", "", 0));
    assert_eq!(content(&file), NEAT);
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-check", "x.hcl"])), ("", "", 0));
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-list=false", "-write=false", "x.hcl"])), (NEAT, "", 0));
}

#[test]
fn folders_are_entered_only_when_asked() {
    let folder = Folder::new("fmt-folders");
    std::fs::create_dir_all(folder.path().join("sub/deep.hcl")).unwrap();
    for name in ["b.nomad.hcl", "a.nomad", "sub/c.hcl", "sub/deep.hcl/d.hcl", "job.txt", ".#a.hcl", "x.hcl.bak"] {
        folder.file(name, UGLY);
    }
    assert_eq!(printed(&run_in(folder.path(), &["fmt"])), ("a.nomad\nb.nomad.hcl\n", "", 0));
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-check", "./sub/"])), ("sub/c.hcl\n", "", 1));
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-recursive"])), ("sub/c.hcl\nsub/deep.hcl/d.hcl\n", "", 0));
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-check", "-recursive", "."])), ("", "", 0));
    for name in ["job.txt", ".#a.hcl", "x.hcl.bak"] {
        assert_eq!(content(&folder.path().join(name)), UGLY, "{name}");
    }
}

#[test]
fn standard_input_goes_to_standard_output() {
    let folder = Folder::new("fmt-stdin");
    let (ugly, neat, broken) = (folder.file("ugly", UGLY), folder.file("neat", NEAT), folder.file("broken", BROKEN));
    let fmt = |flags: &[&str], input: &Path| {
        let args: Vec<&str> = ["fmt"].iter().chain(flags).chain(&["-"]).copied().collect();
        run_with(folder.path(), &args, &[], Some(input))
    };
    assert_eq!(printed(&fmt(&[], &ugly)), (NEAT, "", 0));
    assert_eq!(printed(&fmt(&["-check"], &ugly)), (NEAT, "", 1));
    assert_eq!(printed(&fmt(&["-check"], &neat)), (NEAT, "", 0));
    let ran = fmt(&[], &broken);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1));
    assert!(ran.stderr.starts_with("Error parsing stdin:\nstdin:2,8-"), "{}", ran.stderr);
}

#[test]
fn files_with_syntax_errors_are_explained_and_left_alone() {
    let folder = Folder::new("fmt-broken");
    let broken = folder.file("broken.hcl", BROKEN);
    let latin = folder.file("latin.hcl", b"a=\"\xe9\"\n");
    folder.file("ugly.hcl", UGLY);
    let ran = run_in(folder.path(), &["fmt"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("ugly.hcl\n", 1), "{}", ran.stderr);
    let (first, second) = ran.stderr.split_once("Error parsing latin.hcl:\n").expect("both files");
    let want = "Error parsing broken.hcl:\nbroken.hcl:2,8-3,1: Invalid expression; ";
    assert!(first.starts_with(want), "{}", ran.stderr);
    assert!(first.contains("\n --> broken.hcl:2:8\n") && first.contains("\n2 |  group=\n"), "{}", ran.stderr);
    assert!(second.contains("Invalid character encoding"), "{second}");
    assert_eq!(content(&broken), BROKEN);
    assert_eq!(std::fs::read(&latin).unwrap(), b"a=\"\xe9\"\n");
}

#[test]
fn what_cannot_be_processed_is_told_together() {
    let folder = Folder::new("fmt-errors");
    folder.file("ugly.hcl", UGLY);
    folder.file("job.txt", UGLY);
    let ran = run_in(folder.path(), &["fmt", "job.txt", "ugly.hcl", "none.hcl"]);
    let want = "2 errors occurred:\n\t* Only .nomad and .hcl files can be processed using encamp fmt\n\t\
                * No file or directory at none.hcl\n\n\nFor additional help try 'encamp fmt -help'\n";
    assert_eq!(printed(&ran), ("ugly.hcl\n", want, 1));
}

#[cfg(unix)]
#[test]
fn links_permissions_and_read_only_files_are_respected() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("fmt-links");
    std::fs::create_dir(folder.path().join("real")).unwrap();
    let real = folder.file("real/job.hcl", UGLY);
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real/job.hcl", folder.path().join("link.hcl")).unwrap();
    symlink("nowhere.hcl", folder.path().join("dangling.hcl")).unwrap();
    symlink(".", folder.path().join("real/loop")).unwrap();
    assert_eq!(printed(&run_in(folder.path(), &["fmt", "-recursive"])), ("link.hcl\n", "", 0));
    assert_eq!(content(&real), NEAT);
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(folder.path().join("link.hcl")).unwrap().is_symlink());
    assert_eq!(names(&folder.path().join("real")), ["job.hcl", "loop"]);

    let locked = folder.file("locked.hcl", UGLY);
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o444)).unwrap();
    // The superuser may write it all the same.
    if std::fs::OpenOptions::new().write(true).open(&locked).is_err() {
        let ran = run_in(folder.path(), &["fmt", "locked.hcl"]);
        let want = "1 error occurred:\n\t* Error writing locked.hcl: permission denied\n\n\n\
                    For additional help try 'encamp fmt -help'\n";
        assert_eq!(printed(&ran), ("", want, 1));
        assert_eq!(content(&locked), UGLY);
    }
}

#[test]
fn recorded_runs_are_reproduced() {
    let Some(ugly) = oracle::text("cli/jobs/ugly.nomad.hcl") else { return };
    let folder = Folder::new("fmt-oracle");
    folder.file("ugly.nomad.hcl", ugly);
    for name in ["330-fmt-check.txt", "331-fmt-stdout.txt", "332-fmt-write.txt", "333-fmt-badext.txt"] {
        let Some(text) = oracle::text(&format!("cli/{name}")) else { continue };
        let text = text.replace("nomad fmt", "encamp fmt");
        let (command, rest) = text.split_once('\n').unwrap();
        let (output, exit) = rest.rsplit_once("[exit ").unwrap();
        let (stdout, stderr) = output.split_once("[stderr]\n").unwrap_or((output, ""));
        let args: Vec<&str> = command.split_whitespace().skip(2).collect();
        let ran = run_in(folder.path(), &args);
        let exit: i32 = exit.trim_end().trim_end_matches(']').parse().unwrap();
        assert_eq!(printed(&ran), (stdout, stderr, exit), "{name}");
    }
}
