//! Hashes, ids and keys: `bcrypt md5 rsadecrypt sha1 sha256 sha512 uuidv4 uuidv5`.

use dashu_int::UBig;
use dashu_int::fast_div::ConstDivisor;
use dashu_int::ops::BitTest;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use thiserror::Error;
use uuid::fmt::Hyphenated;
use uuid::{Builder, Uuid};

use super::FunctionContext;
use super::encoding::decode_base64;
use super::support::{Args, Failure, Function, Kind, function, p, variadic};
use crate::types::Type;
use crate::value::Value;
use encamp_model::quote::quoted;

/// Costs of `bcrypt` each double the time; beyond this one call takes more than a second.
const MAX_BCRYPT_COST: i64 = 13;
/// The default cost of `bcrypt`.
const DEFAULT_BCRYPT_COST: i64 = 10;
/// Steps of the evaluator that one decryption is worth.
pub(crate) const RSA_STEPS: usize = 100_000;
/// Bits of the largest RSA key.
const MAX_RSA_BITS: usize = 8192;

const STR: &[super::support::Parameter] = &[p("str", Kind::String)];

pub(crate) const FUNCTIONS: &[Function] = &[
    variadic("bcrypt", STR, p("cost", Kind::Number), bcrypt_hash),
    function("md5", STR, |args, _| digest::<Md5>(args)),
    function("sha1", STR, |args, _| digest::<Sha1>(args)),
    function("sha256", STR, |args, _| digest::<Sha256>(args)),
    function("sha512", STR, |args, _| digest::<Sha512>(args)),
    function("rsadecrypt", &[p("ciphertext", Kind::String), p("privatekey", Kind::String)], rsadecrypt),
    function("uuidv4", &[], |_, context| {
        let mut bytes = [0; 16];
        (context.random)(&mut bytes);
        Ok(text_of(Builder::from_random_bytes(bytes)))
    }),
    function("uuidv5", &[p("namespace", Kind::String), p("name", Kind::String)], uuidv5),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn digest<D: Digest>(args: &Args) -> Result<Value, Failure> {
    Ok(Value::string(hex(&D::digest(args.text(0)?.as_bytes())))?)
}

fn bcrypt_hash(args: &Args, context: &FunctionContext) -> Result<Value, Failure> {
    let cost = match args.all().len() {
        0 | 1 => DEFAULT_BCRYPT_COST,
        2 => args.int(1, i64::MIN, i64::MAX)?,
        _ => return Err("bcrypt() takes no more than two arguments".into()),
    };
    // Nomad takes the default for costs that are too low.
    let cost = if cost < 4 { DEFAULT_BCRYPT_COST } else { cost };
    if cost > MAX_BCRYPT_COST {
        let text = format!(
            "cost {cost} is above {MAX_BCRYPT_COST}, the highest that is supported here; hash the password beforehand and \
             put the hash in"
        );
        return Err(Failure::Argument(1, text));
    }
    let password = args.text(0)?;
    if password.len() > 72 {
        return Err("error occurred generating password bcrypt: password length exceeds 72 bytes".into());
    }
    let mut salt = [0; 16];
    (context.random)(&mut salt);
    let parts = bcrypt::hash_with_salt(password, cost as u32, salt).map_err(|error| error.to_string())?;
    Ok(Value::string(parts.format_for_version(bcrypt::Version::TwoA))?)
}

/// Steps of the evaluator that a call of `bcrypt` is worth.
pub(crate) fn bcrypt_steps(arguments: &[Value]) -> usize {
    let given = arguments.get(1).and_then(|v| v.convert(&Type::Number).ok());
    let cost = given.and_then(|v| v.as_number()?.to_i64()).filter(|cost| *cost >= 4).unwrap_or(DEFAULT_BCRYPT_COST);
    // Above the highest cost nothing is computed.
    if cost > MAX_BCRYPT_COST { 0 } else { 110_usize << cost }
}

/// The text of a UUID.
fn text_of(uuid: Builder) -> Value {
    Value::from(uuid.into_uuid().to_string().as_str())
}

fn uuidv5(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let namespace = match args.text(0)? {
        "dns" => Uuid::NAMESPACE_DNS,
        "url" => Uuid::NAMESPACE_URL,
        "oid" => Uuid::NAMESPACE_OID,
        "x500" => Uuid::NAMESPACE_X500,
        other => match other.parse::<Hyphenated>() {
            Ok(uuid) => uuid.into_uuid(),
            Err(_) => return Err(format!("uuidv5() doesn't support namespace {}", quoted(other)).into()),
        },
    };
    let hash = Sha1::new().chain_update(namespace).chain_update(args.text(1)?.as_bytes()).finalize();
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash.iter()).for_each(|(byte, hashed)| *byte = *hashed);
    Ok(text_of(Builder::from_sha1_bytes(bytes)))
}

fn rsadecrypt(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let ciphertext = decode_base64(args.text(0)?);
    let ciphertext = ciphertext.ok_or_else(|| {
        Failure::Argument(
            0,
            format!(
                "failed to decode input {}: cipher text must be base64-encoded",
                quoted(args.text(0).unwrap_or_default())
            ),
        )
    })?;
    let (modulus, exponent) =
        private_key(args.text(1)?).map_err(|error| Failure::Argument(1, format!("failed to parse key: {error}")))?;
    let failed = || Failure::Call("failed to decrypt: error in RSA decryption".to_string());
    let cipher = UBig::from_be_bytes(&ciphertext);
    let size = modulus.bit_len().div_ceil(8);
    if cipher >= modulus || ciphertext.len() > size {
        return Err(failed());
    }
    let message = ConstDivisor::new(modulus).reduce(cipher).pow(&exponent).residue();
    // PKCS #1 v1.5: 00 02, at least eight bytes that are not zero, 00, the text; the leading zero is not in the number.
    let message = message.to_be_bytes();
    let padded = message.strip_prefix(&[2]).filter(|_| message.len() + 1 == size).ok_or_else(failed)?;
    let end = padded.iter().position(|byte| *byte == 0).filter(|end| *end >= 8).ok_or_else(failed)?;
    let text = padded.get(end + 1..).unwrap_or_default().to_vec();
    let text = String::from_utf8(text).map_err(|_| "the decrypted text is not valid UTF-8")?;
    Ok(Value::string(text)?)
}

/// Why a text is no key that decrypts.
#[derive(Debug, Error)]
enum KeyError {
    #[error("no key found")]
    Missing,
    #[error("password protected keys are not supported")]
    Protected,
    #[error("unsupported key type {}", quoted(.0))]
    Unsupported(String),
    #[error("the key is not a valid RSA private key")]
    Broken,
}

/// Modulus and private exponent of a PEM key, PKCS #1 or PKCS #8.
fn private_key(pem: &str) -> Result<(UBig, UBig), KeyError> {
    let mut lines = pem.lines().map(str::trim).skip_while(|line| !line.starts_with("-----BEGIN "));
    let label = lines.next().ok_or(KeyError::Missing)?;
    if pem.contains("ENCRYPTED") {
        return Err(KeyError::Protected);
    }
    let body: String = lines.take_while(|line| !line.starts_with("-----END ")).collect();
    let der = decode_base64(&body).ok_or(KeyError::Missing)?;
    let key = match label {
        "-----BEGIN RSA PRIVATE KEY-----" => der.as_slice(),
        "-----BEGIN PRIVATE KEY-----" => {
            let mut fields = der_fields(&der, SEQUENCE).ok_or(KeyError::Broken)?.into_iter().skip(2);
            fields.next().filter(|(tag, _)| *tag == OCTET_STRING).ok_or(KeyError::Broken)?.1
        }
        other => return Err(KeyError::Unsupported(other.trim_matches('-').to_string())),
    };
    let fields = der_fields(key, SEQUENCE).ok_or(KeyError::Broken)?;
    let integer = |index: usize| {
        let (tag, bytes) = fields.get(index)?;
        (*tag == INTEGER).then(|| UBig::from_be_bytes(bytes))
    };
    // version, modulus, public exponent, private exponent, ...
    let (modulus, exponent) = integer(1).zip(integer(3)).ok_or(KeyError::Broken)?;
    if modulus.is_zero() || modulus.bit_len() > MAX_RSA_BITS || exponent.bit_len() > MAX_RSA_BITS {
        return Err(KeyError::Broken);
    }
    Ok((modulus, exponent))
}

const INTEGER: u8 = 2;
const OCTET_STRING: u8 = 4;
const SEQUENCE: u8 = 0x30;

/// The fields of the one DER element of the given tag that the bytes start with.
fn der_fields(bytes: &[u8], tag: u8) -> Option<Vec<(u8, &[u8])>> {
    let (own, mut content, _) = der_element(bytes)?;
    let mut fields = Vec::new();
    while own == tag && !content.is_empty() {
        let (tag, field, rest) = der_element(content)?;
        fields.push((tag, field));
        content = rest;
    }
    Some(fields)
}

/// Tag, content and what follows the first DER element.
fn der_element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x83 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::super::support::check;

    #[test]
    fn digests() {
        for (name, input, expected) in [
            ("md5", "", "d41d8cd98f00b204e9800998ecf8427e"),
            ("sha1", "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("sha256", "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "sha512",
                "abc",
                "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
            ),
        ] {
            check(name, &[input.into()], expected);
        }
    }

    #[test]
    fn uuids() {
        check("uuidv4", &[], "00010203-0405-4607-8809-0a0b0c0d0e0f");
        for (namespace, name, expected) in [
            ("dns", "www.terraform.io", "a5008fae-b28c-5ba5-96cd-82b4c53552d6"),
            ("url", "https://www.terraform.io/", "9db6f67c-dd95-5ea0-aa5b-e70e5c5f7cf5"),
            ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.terraform.io", "a5008fae-b28c-5ba5-96cd-82b4c53552d6"),
            ("isbn", "1", "Call to function \"uuidv5\" failed: uuidv5() doesn't support namespace \"isbn\"."),
        ] {
            check("uuidv5", &[namespace.into(), name.into()], expected);
        }
    }

    #[test]
    fn bcrypt_hashes_verify() {
        let context = super::super::support::test_context();
        let hash = super::super::call("bcrypt", vec!["secret".into(), 4.into()], &context).unwrap();
        let hash = hash.as_str().unwrap();
        assert!(hash.starts_with("$2a$04$") && bcrypt::verify("secret", hash).unwrap(), "{hash}");
        let long = "x".repeat(73);
        for (arguments, expected) in [
            (
                vec!["a".into(), 31.into()],
                "Invalid value for \"cost\" parameter: cost 31 is above 13, the highest that is supported here; hash the password beforehand and put the hash in.",
            ),
            (
                vec!["a".into(), 4.into(), 4.into()],
                "Call to function \"bcrypt\" failed: bcrypt() takes no more than two arguments.",
            ),
            (
                vec![long.as_str().into()],
                "Call to function \"bcrypt\" failed: error occurred generating password bcrypt: password length exceeds 72 bytes.",
            ),
        ] {
            check("bcrypt", &arguments, expected);
        }
    }

    const CIPHERTEXT: &str = "VRjN0i0C+dL6Y9/Kf/g1TmiBAIGZdPx0xfSfMK11SBgZnxiA2F5dF8SRVIKUzakqSTcv1sNu0T3S5ve3kxQ5ZA==";
    const PKCS1: &str = "-----BEGIN RSA PRIVATE KEY-----\n\
MIIBOgIBAAJBANYb8W0xX2frZhrAMmVeBL3F557y/jfgmSxbCY7glHjWxbAHWM92\n\
JVHlnEDmJCLeU3ctRa0Af+71t1UXXi7WxQECAwEAAQJANWfU6ZKmJIqv9j44k9ZG\n\
wntJ0fj0dkWcj1bJ5IyaHCWpLmmLI4bVU2p+sAhg1KmvrfWXqfb0PAGKSodWI64R\n\
QQIhAPoq/tTdu3ecUW6na6Ks4inasn9nORrms4reb9LDwnLZAiEA2xm/l5TNEO3x\n\
eyAwHwDmZ6nFXufKlhTGT6q7JBNEumkCIQCCJMf5mXijWxEKDdLzCBmISJu/p8WP\n\
dyFERz/JV8na0QIgWrTiOOMFssiPfKXqxisdODV03MGhgVjAcSMBrwG7JmECIEn2\n\
9EZa8njJ8j0GPej/+IdwweILV03O0LrFHsREVftK\n\
-----END RSA PRIVATE KEY-----";
    const PKCS8: &str = "-----BEGIN PRIVATE KEY-----\n\
MIIBVAIBADANBgkqhkiG9w0BAQEFAASCAT4wggE6AgEAAkEA1hvxbTFfZ+tmGsAy\n\
ZV4EvcXnnvL+N+CZLFsJjuCUeNbFsAdYz3YlUeWcQOYkIt5Tdy1FrQB/7vW3VRde\n\
LtbFAQIDAQABAkA1Z9TpkqYkiq/2PjiT1kbCe0nR+PR2RZyPVsnkjJocJakuaYsj\n\
htVTan6wCGDUqa+t9Zep9vQ8AYpKh1YjrhFBAiEA+ir+1N27d5xRbqdroqziKdqy\n\
f2c5Guazit5v0sPCctkCIQDbGb+XlM0Q7fF7IDAfAOZnqcVe58qWFMZPqrskE0S6\n\
aQIhAIIkx/mZeKNbEQoN0vMIGYhIm7+nxY93IURHP8lXydrRAiBatOI44wWyyI98\n\
perGKx04NXTcwaGBWMBxIwGvAbsmYQIgSfb0RlryeMnyPQY96P/4h3DB4gtXTc7Q\n\
usUexERV+0o=\n\
-----END PRIVATE KEY-----";

    #[test]
    fn rsa() {
        for key in [PKCS1, PKCS8] {
            check("rsadecrypt", &[CIPHERTEXT.into(), key.into()], "attack at dawn");
        }
        let failed = "Call to function \"rsadecrypt\" failed: failed to decrypt: error in RSA decryption.";
        check("rsadecrypt", &["aGk=".into(), PKCS1.into()], failed);
        for (ciphertext, key, parameter) in [
            ("?", PKCS1, "ciphertext"),
            ("aGk=", "", "privatekey"),
            ("aGk=", "-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----", "privatekey"),
            ("aGk=", "-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----", "privatekey"),
            ("aGk=", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", "privatekey"),
        ] {
            let context = super::super::support::test_context();
            let error = super::super::call("rsadecrypt", vec![ciphertext.into(), key.into()], &context).unwrap_err();
            assert!(error.to_string().starts_with(&format!("Invalid value for {parameter:?} parameter: ")), "{error}");
        }
    }
}
