//! The list of the program's parts, in the JSON format of CycloneDX 1.5.

use serde_json::{Value, json};

use crate::checksums::sha256;
use crate::dependencies::{Library, Use};
use crate::failure::Outcome;
use crate::release::Facts;

/// The list. Libraries that only run during the build have the scope `excluded`.
///
/// # Errors
/// None in practice.
pub(crate) fn document(facts: &Facts, libraries: &[Library], program: &[u8]) -> Outcome<Vec<u8>> {
    let components: Vec<Value> = libraries.iter().map(component).collect();
    let listed: Vec<Value> = libraries.iter().map(|l| json!(reference(l))).collect();
    let program_reference = format!("pkg:cargo/encamp@{}", facts.version);
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": facts.time(),
            "component": {
                "type": "application",
                "bom-ref": program_reference,
                "name": "encamp",
                "version": facts.version,
                "licenses": [{"expression": "MPL-2.0"}],
                "purl": program_reference,
                "hashes": [{"alg": "SHA-256", "content": sha256(program)}],
            },
        },
        "components": components,
        "dependencies": [{"ref": program_reference, "dependsOn": listed}],
    });
    let mut text = serde_json::to_vec_pretty(&document)?;
    text.push(b'\n');
    Ok(text)
}

fn reference(library: &Library) -> String {
    format!("pkg:cargo/{}@{}", library.name, library.version)
}

fn component(library: &Library) -> Value {
    let mut out = json!({
        "type": "library",
        "bom-ref": reference(library),
        "name": library.name,
        "version": library.version,
        "scope": match library.usage {
            Use::Linked => "required",
            Use::Build => "excluded",
        },
        "licenses": [{"expression": library.licence.replace('/', " OR ")}],
        "purl": reference(library),
    });
    if let Some(sum) = &library.checksum {
        out["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
    }
    out
}
