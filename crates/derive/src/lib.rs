//! The attribute [`macro@null_is_default`], which says once per struct how its members are read.
//!
//! `serde_with::apply` adds attributes to fields by their types, but cannot leave out the fields that are an `Option` or
//! that are read by a function of their own; with it each struct would list the types of its fields.
//!
//! **May use** no other crate of this workspace. **Never** changes how members are written, or their names.

#![warn(missing_docs)]

use proc_macro::TokenStream;
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Field, Fields, Meta, Token, Type, parse_macro_input, parse_quote};

/// Reads `null` as the default value of a member, as the HTTP API does: `encamp_model::json::or_default` reads each
/// field of the struct.
///
/// Fields that are an `Option` keep telling `null` from a value, and fields with a reader of their own
/// (`deserialize_with`, `with`) or without one (`flatten`, `skip`, `skip_deserializing`) are left as they are. The
/// attribute stands before `#[derive(Deserialize)]`. With `#[serde(default)]` on the struct, absent members have their
/// defaults as well.
#[proc_macro_attribute]
pub fn null_is_default(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as DeriveInput);
    let Data::Struct(data) = &mut item.data else {
        return syn::Error::new_spanned(&item.ident, "only structs have members").to_compile_error().into();
    };
    let Fields::Named(fields) = &mut data.fields else {
        return syn::Error::new_spanned(&item.ident, "the fields of this struct have no names")
            .to_compile_error()
            .into();
    };
    for field in fields.named.iter_mut().filter(|f| !is_option(&f.ty) && !has_own_reader(f)) {
        field.attrs.push(parse_quote!(#[serde(deserialize_with = "::encamp_model::json::or_default")]));
    }
    item.into_token_stream().into()
}

/// Whether the type is written as an `Option`.
fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|s| s.ident == "Option")
}

/// Whether the field's own attributes say how it is read.
fn has_own_reader(field: &Field) -> bool {
    const READERS: [&str; 5] = ["deserialize_with", "with", "flatten", "skip", "skip_deserializing"];
    let of_serde = field.attrs.iter().filter(|a| a.path().is_ident("serde"));
    let mut members = of_serde.flat_map(|a| {
        let parsed = a.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
        parsed.into_iter().flatten()
    });
    members.any(|m| READERS.iter().any(|reader| m.path().is_ident(reader)))
}
