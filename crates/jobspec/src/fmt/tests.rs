use super::*;

pub(crate) fn formatted(text: &str) -> String {
    format(text.as_bytes(), "t.hcl").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn line_ends_and_empty_lines_stay() {
    for (text, want) in [
        ("", ""),
        ("\n\n", "\n\n"),
        ("  \n\t\na=1", "\n\na = 1"),
        ("a=1\r\n\r\nb {\r\n c=2 # d\r\n}\r\n", "a = 1\r\n\r\nb {\r\n  c = 2 # d\r\n}\r\n"),
        ("\u{feff}a=1 # end", "a = 1 # end"),
        ("# only", "# only"),
        ("  /* only */  ", "/* only */"),
        ("a=<<X\r\n b \r\nX\r\nb={}\n", "a = <<X\r\n b \r\nX\r\nb = {}\n"),
    ] {
        assert_eq!(formatted(text), want, "{text:?}");
        assert_eq!(formatted(want), want);
    }
}

#[test]
fn brackets_of_one_line_are_one_level() {
    for (text, want) in [
        ("a=[[\n1\n]]\n", "a = [[\n  1\n]]\n"),
        ("a=[[\n1\n]\n]\n", "a = [[\n  1\n  ]\n]\n"),
        ("a=f([{\nb=1\n}])\n", "a = f([{\n  b = 1\n}])\n"),
        ("a=[\n1,[\n2]]\n", "a = [\n  1, [\n2]]\n"),
    ] {
        assert_eq!(formatted(text), want, "{text:?}");
    }
}

#[test]
fn digits_never_become_a_fraction() {
    for text in ["a = 1 . 5\n", "a = x[1 . 5]\n"] {
        let again = formatted(text);
        assert!(again.contains("1. 5"), "{again}");
        assert_eq!(formatted(&again), again);
    }
    assert_eq!(formatted("a = var . 0 . c . 1.5\n"), "a = var.0.c.1.5\n");
}

#[test]
fn template_sequences_have_no_spaces_at_their_ends() {
    for (text, want) in [
        ("a = \"${ attr.x }\"\n", "a = \"${attr.x}\"\n"),
        ("a = \"b ${\tnode . y [ 0 ]\t} c\"\n", "a = \"b ${node.y[0]} c\"\n"),
        ("a = \"${ attr.x == 1 } ${ var.y }\"\n", "a = \"${attr.x == 1} ${var.y}\"\n"),
        ("a = <<EOT\n${ attr.x } }\nEOT\n", "a = <<EOT\n${attr.x} }\nEOT\n"),
    ] {
        assert_eq!(formatted(text), want, "{text:?}");
    }
}

#[test]
fn what_is_no_text_in_the_language_is_refused() {
    let refused = |bytes: &[u8]| format(bytes, "t.hcl").unwrap_err().to_string();
    assert!(refused(b"a = [\n").starts_with("t.hcl:"), "{}", refused(b"a = [\n"));
    assert!(refused(b"a = 1\nb = \"\xff\"\n").contains("Invalid character encoding"));
    assert!(refused(b"{\"job\": {}}").starts_with("t.hcl:1,1-2: "));
}

/// The work is in proportion to the text, whatever is nested in it.
#[test]
fn large_files_are_laid_out_at_once() {
    let many = format!("a {{\n{}}}\n", "  key = [1, \"x${y}\", { b = 2 }] # c\n".repeat(20_000).replace("key", "k"));
    let started = std::time::Instant::now();
    let parsed = pieces::split(&many);
    assert_eq!(layout::format(&parsed).lines().count(), 20_002);
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}
