//! The bytes that values of rows begin with.

/// The end of a list or an object.
pub(super) const END: u8 = 0x00;
pub(super) const NULL: u8 = 0x01;
pub(super) const FALSE: u8 = 0x02;
pub(super) const TRUE: u8 = 0x03;
/// A number follows.
pub(super) const UNSIGNED: u8 = 0x04;
/// The number that follows, negated.
pub(super) const NEGATIVE: u8 = 0x05;
/// Eight bytes follow.
pub(super) const FLOAT: u8 = 0x06;
/// The length and the text follow.
pub(super) const TEXT: u8 = 0x07;
/// Values follow.
pub(super) const LIST: u8 = 0x08;
/// Keys and values follow.
pub(super) const MAP: u8 = 0x09;
/// Numbers of members and values follow.
pub(super) const OBJECT: u8 = 0x0a;
/// With the length of the text that follows.
pub(super) const SHORT: u8 = 0x40;
pub(super) const LONGEST_SHORT: u8 = 0x3f;
/// With the number itself.
pub(super) const SMALL: u8 = 0x80;
