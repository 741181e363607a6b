//! Tags such as `[bold]` in texts (`docs/spec/cli.md §3.2`).
//!
//! Whole messages go through this step, values inside them too: a job value that looks like a known tag loses it. That
//! is how the output is defined.

/// The escape code of a tag, `None` for an unknown one.
fn code(tag: &str) -> Option<u8> {
    const COLOURS: [(&str, u8); 17] = [
        ("black", 30),
        ("red", 31),
        ("green", 32),
        ("yellow", 33),
        ("blue", 34),
        ("magenta", 35),
        ("cyan", 36),
        ("light_gray", 37),
        ("default", 39),
        ("dark_gray", 90),
        ("light_red", 91),
        ("light_green", 92),
        ("light_yellow", 93),
        ("light_blue", 94),
        ("light_magenta", 95),
        ("light_cyan", 96),
        ("white", 97),
    ];
    let colour = |name: &str| COLOURS.iter().find(|(n, _)| *n == name).map(|(_, c)| *c);
    let background = || colour(tag.strip_prefix('_')?.strip_suffix('_')?).map(|c| c.saturating_add(10));
    let attribute = match tag {
        "reset" => 0,
        "bold" => 1,
        "dim" => 2,
        "underline" => 4,
        "blink_slow" => 5,
        "blink_fast" => 6,
        "invert" => 7,
        "hidden" => 8,
        "reset_bold" => 21,
        _ => return colour(tag).or_else(background),
    };
    Some(attribute)
}

/// Replaces the known tags of a text by escape sequences, or by nothing when colours are off. A text with tags ends
/// with one more reset.
pub fn markup(text: &str, colours: bool) -> String {
    let (mut out, tagged) = replace_tags(text, colours);
    if tagged && colours {
        out.push_str(RESET);
    }
    out
}

/// The end of a text with tags.
pub const RESET: &str = "\x1b[0m";

/// Replaces the known tags of a piece of a text. Whether there were any.
pub fn replace_tags(text: &str, colours: bool) -> (String, bool) {
    let mut out = String::with_capacity(text.len());
    let mut tagged = false;
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('[') {
        out.push_str(before);
        let name_len = from.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        let (name, after) = from.split_at(name_len);
        rest = match (after.strip_prefix(']'), code(name)) {
            (Some(after), Some(code)) => {
                tagged = true;
                if colours {
                    out.push_str(&format!("\x1b[{code}m"));
                }
                after
            }
            _ => {
                out.push('[');
                from
            }
        };
    }
    out.push_str(rest);
    (out, tagged)
}

#[cfg(test)]
mod tests {
    use super::markup;

    #[test]
    fn known_tags_become_codes_and_unknown_ones_stay() {
        for (text, plain, coloured) in [
            ("x", "x", "x"),
            ("[bold]Summary[reset]", "Summary", "\x1b[1mSummary\x1b[0m\x1b[0m"),
            ("args[0] [Bold] [[red]]", "args[0] [Bold] []", "args[0] [Bold] [\x1b[31m]\x1b[0m"),
            ("[_light_yellow_]é[", "é[", "\x1b[103mé[\x1b[0m"),
            ("[", "[", "["),
            ("[]", "[]", "[]"),
        ] {
            assert_eq!(markup(text, false), plain);
            assert_eq!(markup(text, true), coloured);
        }
    }
}
