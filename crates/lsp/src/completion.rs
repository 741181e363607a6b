//! Completion: names of blocks and attributes, values, functions, variables, and what the cluster has.

use lsp_types::{CompletionItem, CompletionItemKind, Documentation, InsertTextFormat, MarkupContent, MarkupKind};

use crate::cluster::Names;
use crate::cursor::{Cursor, Part};
use crate::document::{Document, Kind};
use crate::surroundings::Surroundings;
use encamp_hcl::functions;
use encamp_jobspec::explain::outline::Outline;
use encamp_jobspec::reference::{Attribute, Block, Form, place};

/// Items of one answer.
const MAX_ITEMS: usize = 500;

/// What is offered at a byte of a document.
pub(crate) fn complete(
    document: &Document,
    offset: usize,
    snippets: bool,
    names: &Names,
    around: &dyn Surroundings,
) -> Vec<CompletionItem> {
    if document.kind != Kind::Job || !document.is_native() {
        return Vec::new();
    }
    let cursor = Cursor::at(document.text.as_str(), offset);
    let offer = Offer { cursor: &cursor, document, snippets, names, around };
    let mut items = match &cursor.part {
        _ if cursor.interpolation => offer.references(true),
        Part::Nothing => Vec::new(),
        Part::Name => offer.names(),
        Part::Label(kind) => offer.labels(kind),
        Part::Text(attribute, start) => offer.texts(attribute, document.text.slice(*start, offset)),
        Part::Value(attribute) => offer.values(attribute),
    };
    items.truncate(MAX_ITEMS);
    items
}

struct Offer<'a> {
    cursor: &'a Cursor,
    document: &'a Document,
    snippets: bool,
    names: &'a Names,
    around: &'a dyn Surroundings,
}

fn item(label: &str, kind: CompletionItemKind, detail: &str) -> CompletionItem {
    let detail = Some(detail.to_owned()).filter(|d| !d.is_empty());
    CompletionItem { label: label.to_owned(), kind: Some(kind), detail, ..CompletionItem::default() }
}

fn documented(mut item: CompletionItem, text: Option<&str>) -> CompletionItem {
    item.documentation = text
        .map(|text| Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: text.to_owned() }));
    item
}

impl Offer<'_> {
    fn names(&self) -> Vec<CompletionItem> {
        let kinds = self.cursor.kinds();
        match kinds.as_slice() {
            [] => self.outermost(),
            ["variable"] => self.plain(&["type", "default", "description"], &["validation"]),
            ["variable", "validation"] => self.plain(&["condition", "error_message"], &[]),
            [.., "dynamic"] => self.plain(&["for_each", "iterator", "labels"], &["content"]),
            ["job", .., "config"] => self.driver_options(),
            _ => self.members(&kinds),
        }
    }

    fn members(&self, kinds: &[&str]) -> Vec<CompletionItem> {
        let Some(here) = place(kinds.iter().copied()) else { return Vec::new() };
        let present = self.present();
        let attributes = here.attributes().into_iter().filter(|a| !present.contains(&a.name.to_owned()));
        let mut out: Vec<CompletionItem> = attributes.map(|a| self.attribute(&a)).collect();
        let blocks = here.blocks().into_iter().filter(|b| !(b.once && present.contains(&b.name.to_owned())));
        out.extend(blocks.map(|b| self.block(&b)));
        if !out.is_empty() {
            out.push(self.written("dynamic", "dynamic \"$1\" {\n  for_each = $2\n\n  content {\n    $0\n  }\n}"));
        }
        out
    }

    /// The names of the innermost block, but the one at the cursor.
    fn present(&self) -> Vec<String> {
        let outline: &Outline = self.document.outline();
        let mut at = &outline.root;
        for around in &self.cursor.path {
            let mut namesakes = at.blocks.iter().filter(|b| b.kind == around.kind);
            let labelled = |b: &&encamp_jobspec::explain::outline::Element| b.labels == around.labels;
            let Some(next) = namesakes.clone().find(labelled).or_else(|| namesakes.next()) else { return Vec::new() };
            at = next;
        }
        let attributes = at.attributes.iter().map(|s| s.name.clone());
        let names: Vec<String> = attributes.chain(at.blocks.iter().map(|b| b.kind.clone())).collect();
        names.into_iter().filter(|name| *name != self.cursor.chain).collect()
    }

    fn attribute(&self, a: &Attribute) -> CompletionItem {
        let value = match (a.form, a.values) {
            (Form::Text, Some(_)) => "\"$0\"",
            (Form::Text, None) => "\"$0\"",
            (Form::Duration, _) => "\"${1:30s}\"",
            (Form::List, _) => "[$0]",
            (Form::Map, _) => "{\n  $0\n}",
            (Form::Bool, _) => "${1:true}",
            (Form::Number, _) => "$0",
        };
        let mut out = item(a.name, CompletionItemKind::PROPERTY, a.takes);
        out.sort_text = Some(format!("{}{}", if a.required { 0 } else { 1 }, a.name));
        self.insert(&mut out, &format!("{} = {value}", a.name));
        documented(out, a.description)
    }

    fn block(&self, b: &Block) -> CompletionItem {
        let mut out = item(b.name, CompletionItemKind::STRUCT, if b.once { "block" } else { "block, repeatable" });
        out.sort_text = Some(format!("2{}", b.name));
        let label = if b.label { " \"${1:name}\"" } else { "" };
        self.insert(&mut out, &format!("{}{label} {{\n  $0\n}}", b.name));
        documented(out, b.description)
    }

    fn insert(&self, item: &mut CompletionItem, snippet: &str) {
        if self.snippets {
            item.insert_text = Some(snippet.to_owned());
            item.insert_text_format = Some(InsertTextFormat::SNIPPET);
        }
    }

    fn written(&self, label: &str, snippet: &str) -> CompletionItem {
        let mut out = item(label, CompletionItemKind::SNIPPET, "");
        out.sort_text = Some(format!("3{label}"));
        self.insert(&mut out, snippet);
        out
    }

    fn plain(&self, attributes: &[&str], blocks: &[&str]) -> Vec<CompletionItem> {
        let attributes = attributes.iter().map(|name| {
            let mut out = item(name, CompletionItemKind::PROPERTY, "");
            self.insert(&mut out, &format!("{name} = $0"));
            out
        });
        let blocks = blocks.iter().map(|name| {
            let mut out = item(name, CompletionItemKind::STRUCT, "block");
            self.insert(&mut out, &format!("{name} {{\n  $0\n}}"));
            out
        });
        attributes.chain(blocks).collect()
    }

    fn outermost(&self) -> Vec<CompletionItem> {
        let mut out = vec![
            self.written("variable", "variable \"${1:name}\" {\n  type    = ${2:string}\n  default = $0\n}"),
            self.written("locals", "locals {\n  $0\n}"),
            self.written("variables", "variables {\n  $0\n}"),
        ];
        if self.document.outline().job().is_none() {
            let task = "task \"${3:main}\" {\n      driver = \"${4:docker}\"\n\n      config {\n        $0\n      }\n\n      \
                        resources {\n        cpu    = 100\n        memory = 64\n      }\n    }";
            let job = |kind: &str, more: &str| {
                format!(
                    "job \"${{1:name}}\" {{\n  type = \"{kind}\"\n{more}\n  group \"${{2:main}}\" {{\n    {task}\n  }}\n}}"
                )
            };
            out.push(self.written("job", &job("service", "")));
            out.push(self.written("job (batch)", &job("batch", "")));
            out.push(self.written("job (system)", &job("system", "")));
            let periodic = "\n  periodic {\n    crons = [\"${5:@daily}\"]\n  }\n";
            out.push(self.written("job (periodic)", &job("batch", periodic)));
        }
        out
    }

    /// The driver of the task around the cursor.
    fn driver(&self) -> Option<String> {
        let outline = self.document.outline();
        let mut at = &outline.root;
        for around in self.cursor.path.iter().take_while(|a| a.kind != "config") {
            at = at.blocks.iter().find(|b| b.kind == around.kind && (b.labels == around.labels || b.dynamic))?;
        }
        match &at.setting("driver")?.literal {
            encamp_jobspec::explain::outline::Literal::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn driver_options(&self) -> Vec<CompletionItem> {
        let Some(driver) = self.driver() else { return Vec::new() };
        let options = self.around.driver_options(&driver);
        let detail = format!("option of the {driver} driver");
        let offered = options.iter().map(|name| {
            let mut out = item(name, CompletionItemKind::PROPERTY, &detail);
            self.insert(&mut out, &format!("{name} = $0"));
            out
        });
        offered.collect()
    }

    fn labels(&self, kind: &str) -> Vec<CompletionItem> {
        let offered: Vec<&str> = match kind {
            "dynamic" => {
                let blocks = place(self.cursor.kinds()).map(|p| p.blocks()).unwrap_or_default();
                blocks.into_iter().map(|b| b.name).collect()
            }
            "scaling" => vec!["cpu", "mem"],
            _ => Vec::new(),
        };
        offered.into_iter().map(|name| item(name, CompletionItemKind::VALUE, "")).collect()
    }

    /// The attribute of the reference that a value belongs to.
    fn reference(&self, name: &str) -> Option<Attribute> {
        place(self.cursor.kinds())?.attributes().into_iter().find(|a| a.name == name)
    }

    fn texts(&self, attribute: &str, typed: &str) -> Vec<CompletionItem> {
        let kinds = self.cursor.kinds();
        let innermost = kinds.last().copied().unwrap_or("");
        if let Some(values) = self.reference(attribute).and_then(|a| a.values) {
            return values.iter().map(|v| item(v, CompletionItemKind::ENUM_MEMBER, "")).collect();
        }
        let of_cluster = |set: &std::collections::BTreeSet<String>| -> Vec<CompletionItem> {
            set.iter().map(|name| item(name, CompletionItemKind::VALUE, "of the cluster")).collect()
        };
        match (innermost, attribute) {
            (_, "datacenters") => of_cluster(&self.names.datacenters),
            (_, "node_pool") => of_cluster(&self.names.pools),
            ("job", "namespace") => of_cluster(&self.names.namespaces),
            ("volume", "source") => of_cluster(&self.names.volumes),
            ("config", "image") => of_cluster(&self.names.images),
            ("task", "driver") => {
                let known = self.around.drivers().iter().map(|d| (*d).to_owned());
                of_cluster(&self.names.drivers.iter().cloned().chain(known).collect())
            }
            ("check" | "service", "port") | ("config", "ports") => self.ports(),
            ("volume_mount", "volume") => self.siblings("volume"),
            ("constraint" | "affinity" | "spread", "attribute" | "distinct_property") => {
                let open = typed.rfind("${").is_some();
                self.node_references(open)
            }
            ("constraint" | "affinity", "value") => self.compared_values(),
            ("target", _) => Vec::new(),
            _ => Vec::new(),
        }
    }

    /// The labels of the ports of the group around the cursor.
    fn ports(&self) -> Vec<CompletionItem> {
        let outline = self.document.outline();
        let groups = outline.job().into_iter().flat_map(|j| j.of("group"));
        let own = self.cursor.path.iter().find(|a| a.kind == "group").map(|a| a.labels.clone());
        let groups = groups.filter(|g| own.as_ref().is_none_or(|labels| g.labels == *labels));
        let ports = groups.flat_map(|g| g.of("network")).flat_map(|n| n.of("port")).filter_map(|p| p.labels.first());
        ports.map(|label| item(label, CompletionItemKind::VALUE, "port of the group")).collect()
    }

    fn siblings(&self, kind: &str) -> Vec<CompletionItem> {
        let outline = self.document.outline();
        let groups = outline.job().into_iter().flat_map(|j| j.of("group"));
        let labels = groups.flat_map(|g| g.of(kind)).filter_map(|b| b.labels.first());
        labels.map(|label| item(label, CompletionItemKind::VALUE, "of this file")).collect()
    }

    /// The values that nodes have of the attribute beside the cursor.
    fn compared_values(&self) -> Vec<CompletionItem> {
        let text = self.document.text.as_str();
        let outline = self.document.outline();
        let mut open = vec![&outline.root];
        let mut all = Vec::new();
        while let Some(at) = open.pop() {
            open.extend(&at.blocks);
            if matches!(at.kind.as_str(), "constraint" | "affinity") {
                all.extend(at.setting("attribute").map(|s| outline.slice(s.value)));
            }
        }
        let _ = text;
        let references = all.into_iter().filter_map(|v| v.trim_matches('"').strip_prefix("${")?.strip_suffix('}'));
        let values = references.flat_map(|r| self.names.offered(r));
        values.map(|(value, count)| item(value, CompletionItemKind::VALUE, &nodes(count))).collect()
    }

    fn node_references(&self, open: bool) -> Vec<CompletionItem> {
        let attributes = self.names.attributes.iter();
        let offered = attributes.map(|(name, values)| {
            let detail = match values.len() {
                0 => String::new(),
                1 => values.keys().next().cloned().unwrap_or_default(),
                n => format!("{n} values"),
            };
            let mut out = item(name, CompletionItemKind::FIELD, &detail);
            if !open {
                out.insert_text = Some(format!("${{{name}}}"));
                out.filter_text = Some(name.clone());
            }
            out
        });
        offered.collect()
    }

    /// Names that expressions refer to. `kept`: inside of `${…}`, where nodes replace what the file does not define.
    fn references(&self, kept: bool) -> Vec<CompletionItem> {
        let outline = self.document.outline();
        let chain = self.cursor.chain.as_str();
        let partial = self.document.partial(self.around);
        let value = |values: &serde_json::Map<String, serde_json::Value>, name: &str| {
            values.get(name).map(|v| v.to_string()).unwrap_or_default()
        };
        let mut out = Vec::new();
        if let Some((root, _)) = chain.split_once('.') {
            match root {
                "var" => out.extend(
                    crate::names::declared(outline, "var")
                        .into_iter()
                        .map(|(name, _)| item(&name, CompletionItemKind::VARIABLE, &value(&partial.variables, &name))),
                ),
                "local" => out.extend(
                    crate::names::declared(outline, "local")
                        .into_iter()
                        .map(|(name, _)| item(&name, CompletionItemKind::VARIABLE, &value(&partial.locals, &name))),
                ),
                "attr" | "meta" | "node" if kept => {
                    // The client replaces the word behind the last dot.
                    let before = chain.rfind('.').map_or("", |at| chain.get(..=at).unwrap_or(""));
                    out.extend(self.node_references(true).into_iter().filter_map(|mut i| {
                        let rest = i.label.strip_prefix(before)?.to_owned();
                        i.insert_text = Some(rest.clone());
                        i.filter_text = Some(rest);
                        Some(i)
                    }));
                }
                _ => {}
            }
            return out;
        }
        let roots: &[&str] = if kept { &["var", "local", "attr", "meta", "node", "env"] } else { &["var", "local"] };
        out.extend(roots.iter().map(|root| item(root, CompletionItemKind::MODULE, "")));
        out.extend(functions::names().iter().map(|name| {
            let mut out = item(name, CompletionItemKind::FUNCTION, &functions::signature(name).unwrap_or_default());
            self.insert(&mut out, &format!("{name}($0)"));
            out
        }));
        out
    }

    fn values(&self, attribute: &str) -> Vec<CompletionItem> {
        let known = self.reference(attribute);
        let mut out = Vec::new();
        if !self.cursor.chain.contains('.') {
            let form = known.as_ref().map(|a| a.form);
            let plain: Vec<String> = match (form, known.as_ref().and_then(|a| a.values)) {
                (_, Some(values)) => values.iter().map(|v| format!("{v:?}")).collect(),
                (Some(Form::Bool), _) => vec!["true".into(), "false".into()],
                _ if self.cursor.kinds().last() == Some(&"variable") && attribute == "type" => {
                    ["string", "number", "bool", "list(string)", "map(string)", "any"].map(String::from).to_vec()
                }
                _ => Vec::new(),
            };
            out.extend(plain.iter().map(|v| {
                let mut out = item(v, CompletionItemKind::ENUM_MEMBER, "");
                out.sort_text = Some(format!("0{v}"));
                out
            }));
        }
        out.extend(self.references(false));
        out
    }
}

fn nodes(count: u32) -> String {
    if count == 1 { "1 node".into() } else { format!("{count} nodes") }
}
