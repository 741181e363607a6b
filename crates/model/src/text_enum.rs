//! Enums of fixed texts that keep values of other versions: what [`status`](crate::status) and
//! [`modes`](crate::modes) are made of.

use std::fmt;

use serde::de::{self, Visitor};

use crate::text::Text;

/// A value that is not one of a closed set.
#[derive(Clone, PartialEq, Eq)]
pub struct UnknownValue(pub(crate) Text);

/// Reads a text without a copy of it.
pub(crate) struct TextVisitor<T>(pub(crate) std::marker::PhantomData<T>);

impl<T: for<'a> From<&'a str>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok(T::from(text))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<T, E> {
        let text = std::str::from_utf8(bytes);
        text.map(T::from).map_err(|_| de::Error::invalid_value(de::Unexpected::Bytes(bytes), &self))
    }
}

/// Defines an enum of fixed texts with its conversions.
macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Default)]
        pub enum $name {
            /// No value: the empty text.
            #[default]
            Unset,
            $($(#[$variant_doc])* $variant,)+
            /// A value that this version does not know.
            Other($crate::text_enum::UnknownValue),
        }

        impl $name {
            /// All values that this version knows, in the order of their documentation.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The text of the value in the HTTP API; empty if there is none.
            pub fn as_str(&self) -> &str {
                match self {
                    $name::Unset => "",
                    $($name::$variant => $text,)+
                    $name::Other($crate::text_enum::UnknownValue(text)) => text,
                }
            }

            /// There is no value.
            pub fn is_unset(&self) -> bool {
                matches!(self, $name::Unset)
            }

            /// The value is one that this version knows.
            pub fn is_known(&self) -> bool {
                !matches!(self, $name::Unset | $name::Other(_))
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> $name {
                match text {
                    "" => $name::Unset,
                    $($text => $name::$variant,)+
                    other => $name::Other($crate::text_enum::UnknownValue(other.into())),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> $name {
                text.as_str().into()
            }
        }

        impl From<&String> for $name {
            fn from(text: &String) -> $name {
                text.as_str().into()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                match (self, other) {
                    ($name::Other(a), $name::Other(b)) => a == b,
                    (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
                }
            }
        }

        impl Eq for $name {}

        /// As the texts are ordered.
        impl Ord for $name {
            fn cmp(&self, other: &$name) -> std::cmp::Ordering {
                self.as_str().cmp(other.as_str())
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &$name) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                std::hash::Hash::hash(self.as_str(), state);
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<$name, D::Error> {
                d.deserialize_str($crate::text_enum::TextVisitor(std::marker::PhantomData))
            }
        }
    };
}

pub(crate) use text_enum;
