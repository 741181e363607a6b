use super::*;
use crate::parse::{ParseOptions, parse};

const FILE: &str = r#"# A comment that stays.
variable "size" {
  default = 512 # MB
}

variable "unset" {
  type = number
}

locals {
  cpu = 400
}

job "web" {
  datacenters = ["dc1"]

  # The kernel has to be new.
  constraint {
    attribute = "${attr.kernel.version}"
    operator  = "version"
    value     = ">= 5.0"
  }

  group "api" {
    count = 3

    network {
      port "http" { static = 8080 }
      port "admin" {
        static = 9000
        to     = 9000
      }
    }

    task "server" {
      driver = "docker" // runs anywhere

      resources {
        cpu    = 500   /* MHz */
        memory = var.size
      }
    }

    task "log" {
      driver = "docker"
    }

    task "tool" {
      driver = "docker"
      resources { cores = 2 }
    }

    task "odd" {
      driver = "docker"
      resources {
        cpu        = local.cpu
        memory     = max(100, 200)
        memory_max = var.unset
      }
    }
  }
}
"#;

fn outline(text: &str) -> Outline {
    Outline::read("web.hcl", text, Syntax::Hcl)
}

fn task(name: &str) -> Vec<Step> {
    vec![Step::Labelled("group", "api".into()), Step::Labelled("task", name.into()), Step::Nth("resources", 0)]
}

fn set(at: Vec<Step>, name: &'static str, value: i64) -> FileEdit {
    FileEdit::Set { at, name, value: NewValue::Number(value) }
}

/// The lines that an edit takes away, and those that it adds.
fn change(edit: FileEdit) -> (Vec<String>, Vec<String>) {
    let new = rewritten(&outline(FILE), Syntax::Hcl, &[edit]).unwrap();
    let options = ParseOptions { vars: vec!["unset=1".into()], ..ParseOptions::default() };
    parse(new.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}\n{new}"));
    let (old, new): (Vec<&str>, Vec<&str>) = (FILE.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let text = |lines: &[&str]| lines.iter().map(|l| l.to_string()).collect::<Vec<_>>();
    (text(&old[..old.len() - tail]), text(&new[..new.len() - tail]))
}

fn lines(all: &[&str]) -> Vec<String> {
    all.iter().map(|l| l.to_string()).collect()
}

#[test]
fn a_value_is_replaced_by_its_token() {
    let (old, new) = change(set(task("server"), "cpu", 450));
    assert_eq!(
        (old, new),
        (lines(&["        cpu    = 500   /* MHz */"]), lines(&["        cpu    = 450   /* MHz */"]))
    );
    let group = vec![Step::Labelled("group", "api".into())];
    assert_eq!(change(set(group, "count", 2)).1, lines(&["    count = 2"]));
    // The default of the variable that the value comes from.
    assert_eq!(change(set(task("server"), "memory", 256)).1, lines(&["  default = 256 # MB"]));
}

#[test]
fn what_the_file_does_not_have_is_added() {
    let (old, new) = change(set(task("log"), "memory", 64));
    assert_eq!((old.len(), new), (0, lines(&["", "      resources {", "        memory = 64", "      }"])));
    let (_, new) = change(set(task("tool"), "memory", 64));
    assert_eq!(new, lines(&["      resources {", "        cores = 2", "        memory = 64", "      }"]));
    assert_eq!(change(set(vec![], "priority", 70)).1, lines(&["  priority    = 70"]));
    let disk = vec![Step::Labelled("group", "api".into()), Step::Nth("ephemeral_disk", 0)];
    assert_eq!(change(set(disk, "size", 150)).1.last().unwrap(), "    }");
}

#[test]
fn blocks_and_attributes_go_with_their_lines() {
    let (old, new) = change(FileEdit::Remove { at: vec![Step::Nth("constraint", 0)] });
    assert_eq!((old.len(), new), (5, lines(&[])), "comments stay");
    let port = |label: &str| {
        vec![Step::Labelled("group", "api".into()), Step::Nth("network", 0), Step::Labelled("port", label.into())]
    };
    let unset = |label| change(FileEdit::Unset { at: port(label), name: "static" });
    assert_eq!(unset("http").1, lines(&["      port \"http\" {}"]));
    assert_eq!(unset("admin"), (lines(&["        static = 9000"]), lines(&[])));
}

#[test]
fn lists_get_one_more_item() {
    let append = |text: &str| {
        let edit = FileEdit::Append { at: vec![], name: "datacenters", item: "b".into() };
        rewritten(&outline(text), Syntax::Hcl, &[edit]).unwrap()
    };
    for (old, new) in [
        ("[\"a\"]", "[\"a\", \"b\"]"),
        ("[]", "[\"b\"]"),
        ("[ \"a\" ]", "[ \"a\", \"b\" ]"),
        ("[\n    \"x\",\n    \"a\", # last\n  ]", "[\n    \"x\",\n    \"a\",\n    \"b\", # last\n  ]"),
    ] {
        assert_eq!(
            append(&format!("job \"j\" {{\n  datacenters = {old}\n}}\n")),
            format!("job \"j\" {{\n  datacenters = {new}\n}}\n")
        );
    }
    let text = "variable \"dcs\" {\n  default = [\"a\"]\n}\njob \"j\" {\n  datacenters = var.dcs\n}\n";
    assert_eq!(append(text), text.replace("[\"a\"]", "[\"a\", \"b\"]"));
}

#[test]
fn computed_values_are_refused_with_their_origin() {
    let refused = |edit| rewritten(&outline(FILE), Syntax::Hcl, &[edit]).unwrap_err();
    let attribute = |name: &str| name.to_string();
    assert_eq!(
        refused(set(task("odd"), "cpu", 1)),
        EditError::Local { attribute: attribute("cpu"), local: "cpu".into() }
    );
    let function = EditError::Function { attribute: attribute("memory"), function: "max".into() };
    assert_eq!(refused(set(task("odd"), "memory", 1)), function);
    let variable = EditError::Variable { attribute: attribute("memory_max"), variable: "unset".into() };
    assert_eq!(refused(set(task("odd"), "memory_max", 1)), variable);
    assert_eq!(refused(set(task("none"), "cpu", 1)), EditError::NoBlock("task \"none\"".into()));
}

#[test]
fn values_of_json_files_are_replaced_too() {
    let text = r#"{"Job": {"ID": "j", "TaskGroups": [{"Name": "api", "Count": 3, "Tasks": []}]}}"#;
    let outline = Outline::read("j.json", text, Syntax::Api);
    let group = vec![Step::Labelled("group", "api".into())];
    let new = rewritten(&outline, Syntax::Api, &[set(group.clone(), "count", 2)]).unwrap();
    assert_eq!(new, text.replace("\"Count\": 3", "\"Count\": 2"));
    let remove = FileEdit::Remove { at: group };
    assert_eq!(rewritten(&outline, Syntax::Api, &[remove]), Err(EditError::Json("group".into())));
}

#[test]
fn places_are_those_of_the_attribute_or_of_what_is_around_it() {
    let outline = outline(FILE);
    let line = |edit: &FileEdit| place(&outline, edit).unwrap().range.start_line;
    let at = |text: &str| FILE.lines().position(|l| l.contains(text)).unwrap() + 1;
    assert_eq!(line(&set(task("server"), "cpu", 1)), at("cpu    = 500"));
    assert_eq!(line(&set(task("log"), "cpu", 1)), at("task \"log\""));
    assert_eq!(line(&FileEdit::Remove { at: vec![Step::Nth("constraint", 0)] }), at("constraint {"));
}
