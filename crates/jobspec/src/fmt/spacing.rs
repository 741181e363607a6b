//! Whether there is a space between two neighbours of a line.

use super::pieces::{Form, Piece};
use encamp_hcl::token::Kind;

/// Whether a space stands between `left` and `right`; `before` is what stands before `left` in its line.
pub(crate) fn between(before: Option<&Piece<'_>>, left: &Piece<'_>, right: &Piece<'_>) -> bool {
    use Kind::*;
    if right.form == Form::LineEnd {
        return false;
    }
    // The first rule that fits holds.
    match (left.kind(), right.kind()) {
        // Text of strings and heredocs is never touched.
        (Some(QuotedLit | StringLit | OQuote | OHeredoc), _) | (_, Some(QuotedLit | StringLit | CQuote | CHeredoc)) => {
            false
        }
        (_, Some(Interp | Control)) => false,
        (Some(Interp | Control), right) => right == Some(OBrace),
        // The `in` of a `for` stands behind a name.
        (Some(Ident), Some(OBrack | CBrack | SeqEnd)) if left.text == "in" && before.is_some_and(is_name) => true,
        (left, Some(SeqEnd)) => left == Some(CBrace),
        (Some(Dot), Some(Number)) => before.is_some_and(is_whole_number),
        (_, Some(Comma | Dot | Ellipsis | DoubleColon)) | (Some(Dot | DoubleColon | Bang), _) => false,
        (Some(Comma), _) => true,
        (Some(OParen | OBrack), _) | (_, Some(CParen | CBrack)) => false,
        (Some(OBrace), right) => right != Some(CBrace),
        (Some(Minus), _) => before.is_some_and(ends_operand),
        (Some(Ident), Some(OParen | OBrack)) | (Some(Number | CParen | CBrack | CBrace), Some(OBrack)) => false,
        _ => true,
    }
}

fn is_name(piece: &Piece<'_>) -> bool {
    piece.kind() == Some(Kind::Ident)
}

/// Whether a minus behind this piece subtracts.
fn ends_operand(piece: &Piece<'_>) -> bool {
    use Kind::*;
    match piece.kind() {
        Some(kind) => matches!(
            kind,
            Ident | Number | CParen | CBrack | CBrace | CQuote | CHeredoc | SeqEnd | FatArrow | Interp | Control
        ),
        None => true,
    }
}

/// Whether digits behind this number and a dot would become its fraction.
fn is_whole_number(piece: &Piece<'_>) -> bool {
    piece.kind() == Some(Kind::Number) && piece.text.bytes().all(|b| b.is_ascii_digit())
}
