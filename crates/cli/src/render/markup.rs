//! Tags such as `[bold]` in texts (`docs/spec/cli.md §3.2`).
//!
//! Whole messages go through this step, values inside them too: a job value that looks like a known tag loses it. That
//! is how the output is defined.

use std::fmt::{self, Display, Formatter};

use owo_colors::{AnsiColors, Effect, Style};

/// What a known tag does.
#[derive(Debug, Clone, Copy)]
enum Tag {
    /// Switches a colour or an effect on.
    On(Style),
    /// Switches everything off.
    Reset,
    /// `[reset_bold]`, attribute 21, which owo-colors does not have: terminals underline twice, or end bold text.
    ResetBold,
}

impl Tag {
    /// The tag of this name, `None` for an unknown one.
    fn of(name: &str) -> Option<Tag> {
        let effect = |effect| Some(Tag::On(Style::new().effect(effect)));
        match name {
            "reset" => Some(Tag::Reset),
            "bold" => effect(Effect::Bold),
            "dim" => effect(Effect::Dimmed),
            "underline" => effect(Effect::Underline),
            "blink_slow" => effect(Effect::Blink),
            "blink_fast" => effect(Effect::BlinkFast),
            "invert" => effect(Effect::Reversed),
            "hidden" => effect(Effect::Hidden),
            "reset_bold" => Some(Tag::ResetBold),
            _ => match name.strip_prefix('_').and_then(|name| name.strip_suffix('_')) {
                Some(background) => colour(background).map(|c| Tag::On(Style::new().on_color(c))),
                None => colour(name).map(|c| Tag::On(Style::new().color(c))),
            },
        }
    }
}

impl Display for Tag {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Tag::On(style) => style.fmt_prefix(f),
            Tag::Reset => reset().fmt(f),
            Tag::ResetBold => f.write_str("\x1b[21m"),
        }
    }
}

/// The colour of this name.
fn colour(name: &str) -> Option<AnsiColors> {
    Some(match name {
        "black" => AnsiColors::Black,
        "red" => AnsiColors::Red,
        "green" => AnsiColors::Green,
        "yellow" => AnsiColors::Yellow,
        "blue" => AnsiColors::Blue,
        "magenta" => AnsiColors::Magenta,
        "cyan" => AnsiColors::Cyan,
        "light_gray" => AnsiColors::White,
        "default" => AnsiColors::Default,
        "dark_gray" => AnsiColors::BrightBlack,
        "light_red" => AnsiColors::BrightRed,
        "light_green" => AnsiColors::BrightGreen,
        "light_yellow" => AnsiColors::BrightYellow,
        "light_blue" => AnsiColors::BrightBlue,
        "light_magenta" => AnsiColors::BrightMagenta,
        "light_cyan" => AnsiColors::BrightCyan,
        "white" => AnsiColors::BrightWhite,
        _ => return None,
    })
}

/// The escape sequence that switches all colours and effects off, as it ends every styled text.
pub fn reset() -> impl Display {
    const STYLED: Style = Style::new().bold();
    STYLED.suffix_formatter()
}

/// Replaces the known tags of a text by escape sequences, or by nothing when colours are off. A text with tags ends
/// with one more reset.
pub fn markup(text: &str, colours: bool) -> String {
    let (mut out, tagged) = replace_tags(text, colours);
    if tagged && colours {
        out.push_str(&reset().to_string());
    }
    out
}

/// Replaces the known tags of a piece of a text. Whether there were any.
pub fn replace_tags(text: &str, colours: bool) -> (String, bool) {
    let mut out = String::with_capacity(text.len());
    let mut tagged = false;
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('[') {
        out.push_str(before);
        let name_len = from.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')).count();
        let (name, after) = from.split_at(name_len);
        rest = match (after.strip_prefix(']'), Tag::of(name)) {
            (Some(after), Some(tag)) => {
                tagged = true;
                if colours {
                    out.push_str(&tag.to_string());
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
            ("[_default_][reset_bold]", "", "\x1b[49m\x1b[21m\x1b[0m"),
            ("[__][_bold_][_red]", "[__][_bold_][_red]", "[__][_bold_][_red]"),
            ("[", "[", "["),
            ("[]", "[]", "[]"),
        ] {
            assert_eq!(markup(text, false), plain);
            assert_eq!(markup(text, true), coloured);
        }
    }
}
