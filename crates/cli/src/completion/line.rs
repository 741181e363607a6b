//! The words of a command line up to the cursor, as a shell reads them.

/// How a shell quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// bash and zsh: nothing is special between single quotes.
    Posix,
    /// fish: backslashes escape single quotes and backslashes between single quotes.
    Fish,
}

/// A quotation mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// `'`
    Single,
    /// `"`
    Double,
}

/// One word of a command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// The word as it was typed.
    pub raw: String,
    /// The word without quotes and backslashes.
    pub text: String,
    /// The quotation mark that is still open at its end.
    pub open: Option<Quote>,
}

/// A command line up to the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The arguments before the one at the cursor.
    pub before: Vec<String>,
    /// The argument at the cursor, up to the cursor. It is empty behind a blank.
    pub current: Word,
}

impl Line {
    /// Reads a line that begins with the name of the program, or with assignments to variables before it. `None` while
    /// the name itself is being typed.
    pub fn read(text: &str, syntax: Syntax) -> Option<Line> {
        let mut words = words(text, syntax).into_iter().skip_while(|w| is_assignment(&w.raw)).skip(1);
        let mut line = Line { before: Vec::new(), current: words.next()? };
        for word in words {
            line.before.push(std::mem::replace(&mut line.current, word).text);
        }
        Some(line)
    }
}

/// The part of a line before the cursor. `point` is the cursor's offset in bytes. bash, which also says what the word
/// at the cursor is, counts characters instead in most locales.
pub fn before_cursor<'a>(line: &'a str, point: Option<usize>, current: Option<&str>) -> &'a str {
    let Some(point) = point else { return line };
    let bytes = line.get(..point);
    let characters = line.char_indices().nth(point).map_or(Some(line), |(end, _)| line.get(..end));
    let fits = |part: &&str| current.is_none_or(|word| part.ends_with(word));
    let readings = if current.is_some() { [characters, bytes] } else { [bytes, characters] };
    readings.into_iter().flatten().find(fits).unwrap_or(line)
}

/// Whether a word sets a variable for the command behind it.
fn is_assignment(raw: &str) -> bool {
    let Some((name, _)) = raw.split_once('=') else { return false };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// All words. The last one ends at the cursor, and is empty behind a blank.
fn words(text: &str, syntax: Syntax) -> Vec<Word> {
    let (mut done, mut word) = (Vec::new(), Word::default());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if word.open.is_none() && matches!(c, ' ' | '\t' | '\n') {
            if !word.raw.is_empty() {
                done.push(std::mem::take(&mut word));
            }
            continue;
        }
        word.raw.push(c);
        let next = rest.peek().copied();
        match (word.open, c) {
            (None, '\'') => word.open = Some(Quote::Single),
            (None, '"') => word.open = Some(Quote::Double),
            (Some(Quote::Single), '\'') | (Some(Quote::Double), '"') => word.open = None,
            (_, '\\') if is_escape(word.open, next, syntax) => {
                word.raw.extend(next);
                word.text.extend(next);
                rest.next();
            }
            _ => word.text.push(c),
        }
    }
    done.push(word);
    done
}

/// Whether a backslash takes the special meaning off the character behind it.
fn is_escape(open: Option<Quote>, next: Option<char>, syntax: Syntax) -> bool {
    match (open, syntax) {
        (None, _) => true,
        (Some(Quote::Double), _) => matches!(next, Some('$' | '`' | '"' | '\\' | '\n')),
        (Some(Quote::Single), Syntax::Fish) => matches!(next, Some('\'' | '\\')),
        (Some(Quote::Single), Syntax::Posix) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_the_shell_makes_of_them() {
        for (text, before, current) in [
            ("encamp ", &[][..], ""),
            ("encamp job pl", &["job"], "pl"),
            ("  encamp\tjob  plan ", &["job", "plan"], ""),
            ("TZ=UTC NOMAD_ADDR='a b' encamp job ", &["job"], ""),
            ("~/bin/encamp -var a=b x", &["-var", "a=b"], "x"),
            (r"encamp fmt my\ job", &["fmt"], "my job"),
            (r#"encamp fmt "my \"job\" \a"#, &["fmt"], r#"my "job" \a"#),
            (r#"encamp -var="a b" 'c d'e "#, &["-var=a b", "c de"], ""),
            (r"encamp 'a\' b", &[r"a\"], "b"),
            (r"encamp a\", &[], "a"),
            ("encamp \"", &[], ""),
        ] {
            let line = Line::read(text, Syntax::Posix).unwrap();
            assert_eq!(
                (line.before, line.current.text.as_str()),
                (before.iter().map(|w| w.to_string()).collect(), current)
            );
        }
        assert_eq!(Line::read(r"encamp 'a\' b", Syntax::Fish).unwrap().current.text, "a' b");
        for text in ["", "enc", "A=b enc"] {
            assert_eq!(Line::read(text, Syntax::Posix), None, "{text}");
        }
    }

    #[test]
    fn open_quotes_are_noted() {
        let open = |text: &str| Line::read(text, Syntax::Posix).unwrap().current.open;
        assert_eq!(open("encamp a'b'"), None);
        assert_eq!(open("encamp a'b"), Some(Quote::Single));
        assert_eq!(open("encamp \"it's"), Some(Quote::Double));
    }

    #[test]
    fn the_cursor_is_counted_in_bytes_or_characters() {
        for (line, point, current, want) in [
            ("encamp job", None, None, "encamp job"),
            ("encamp job", Some(8), None, "encamp j"),
            ("encamp job", Some(99), None, "encamp job"),
            ("encamp dö jo", Some(12), None, "encamp dö j"),
            ("encamp dö", Some(9), None, "encamp dö"),
            ("encamp dö jo", Some(11), Some("j"), "encamp dö j"),
            ("encamp dö jo", Some(12), Some("j"), "encamp dö j"),
            ("encamp dö jo", Some(12), Some("jo"), "encamp dö jo"),
            ("encamp dö jo x", Some(12), Some("jo"), "encamp dö jo"),
            ("encamp dö ", Some(10), Some(""), "encamp dö "),
        ] {
            assert_eq!(before_cursor(line, point, current), want, "{line} {point:?} {current:?}");
        }
    }
}
