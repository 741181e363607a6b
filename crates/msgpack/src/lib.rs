//! Reads MessagePack into objects.
//!
//! - [`wire`]: the marker of a value, and its end.
//! - [`decode()`]: a serde deserializer, for the two [`Profile`]s: what encamp writes itself, and the old form in server
//!   backups.
//!
//! Writing is rmp-serde's. Its deserializer is not used: it makes every visitor handle every marker, so that the types
//! of `model` alone are two million lines of intermediate code, which each crate that reads them compiles again. This
//! one handles the markers that the expected type can have, a quarter of the code (`docs/dev/build-time.md`), and its
//! errors name the member, never the value.

pub mod decode;
pub mod wire;

pub use decode::{ENCODED_FIRST, Profile, ValueError, decode, text_member};
