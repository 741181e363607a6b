//! The templates of a task, read and compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cache::Known;
use super::place::{Place, Target};
use super::timing::{Due, Wait};
use super::{TemplateError, dotenv};
use crate::config::TemplateConfig;
use crate::env::TaskEnv;
use encamp_model::{Template as Block, duration};
use encamp_template::{Dependency, Limits, Options, Rendered, Template};

/// The bits of a mode that let a program run as the owner or the group of its file.
const SET_ID: u32 = 0o6000;

/// A template of a task.
pub(crate) struct Planned {
    /// Its block.
    pub block: Block,
    template: Arc<Template>,
    target: Target,
    mode: u32,
    owner: Option<(u32, u32)>,
    /// How long changes are collected.
    pub wait: Wait,
    /// When it is to be rendered again.
    pub due: Due,
    /// Its last result. May hold secrets.
    pub text: Option<String>,
    /// What it depends on.
    pub dependencies: BTreeSet<Dependency>,
    /// What was missing at the last time.
    pub missing: BTreeSet<Dependency>,
}

/// Reads and compiles the templates of a task.
pub(crate) fn plan(
    blocks: &[Block],
    place: &Place,
    env: &TaskEnv,
    config: &TemplateConfig,
) -> Result<Vec<Planned>, TemplateError> {
    blocks.iter().map(|block| one(block, place, env, config)).collect()
}

fn one(block: &Block, place: &Place, env: &TaskEnv, config: &TemplateConfig) -> Result<Planned, TemplateError> {
    let destination = env.replace(&block.dest_path);
    let target = place.target(&destination).ok_or(TemplateError::DestinationEscapes)?;
    let (name, text) = if block.source_path.is_empty() {
        (destination, block.embedded_tmpl.clone())
    } else {
        let path = env.replace(&block.source_path);
        let text = place.source(&path)?;
        (path, text)
    };
    let options = Options {
        left: block.left_delim.clone(),
        right: block.right_delim.clone(),
        error_on_missing_key: block.err_missing_key,
        denied: config.function_denylist.iter().cloned().collect(),
        ..Options::default()
    };
    let perms = if block.perms.is_empty() { "0644" } else { &block.perms };
    // A file of a job never runs with the rights of its owner.
    let mode = u32::from_str_radix(perms, 8).ok().filter(|m| *m <= 0o7777).map(|m| m & !SET_ID);
    let id = |given: Option<i64>| given.and_then(|n| u32::try_from(n).ok());
    let owner = match (id(block.uid), id(block.gid)) {
        (None, None) => None,
        (uid, gid) => Some((
            uid.unwrap_or_else(|| rustix::process::geteuid().as_raw()),
            gid.unwrap_or_else(|| rustix::process::getegid().as_raw()),
        )),
    };
    Ok(Planned {
        template: Arc::new(Template::parse(&name, &text, &options)?),
        target,
        mode: mode.ok_or_else(|| TemplateError::Perms(perms.into()))?,
        owner,
        wait: Wait::of(block.wait.as_ref(), config),
        due: Due::default(),
        text: None,
        dependencies: BTreeSet::new(),
        missing: BTreeSet::new(),
        block: block.clone(),
    })
}

impl Planned {
    /// The longest random wait before a change takes effect.
    pub(crate) fn splay(&self) -> std::time::Duration {
        duration::of_nanos(self.block.splay)
    }

    /// Takes what the file holds as the last result: that of an earlier run of the agent.
    pub(crate) fn recall(&mut self, place: &Place) {
        let most = u64::try_from(Limits::default().output).unwrap_or(u64::MAX);
        self.text = place.read(&self.target, most).ok().flatten();
    }

    /// Executes the template, away from the threads of the runtime.
    pub(crate) async fn render(&self, known: &Known) -> Result<Rendered, TemplateError> {
        let (template, known) = (self.template.clone(), known.clone());
        let work = move || template.render(&known, &Limits::default());
        let done = tokio::task::spawn_blocking(work).await;
        Ok(done.map_err(|e| TemplateError::Interrupted(e.to_string()))??)
    }

    /// Takes over what was read; gives the text if it differs from the last one.
    pub(crate) fn take(&mut self, rendered: Rendered) -> Option<String> {
        self.dependencies = rendered.dependencies;
        self.missing = rendered.missing;
        rendered.text.filter(|text| self.text.as_ref() != Some(text))
    }

    /// Writes a new text. A text that is no environment is not written.
    pub(crate) fn write(&mut self, place: &Place, text: String) -> Result<(), TemplateError> {
        let path = || self.block.dest_path.clone();
        if self.block.envvars {
            dotenv::parse(&text).map_err(|reason| TemplateError::Environment { path: path(), reason })?;
        }
        place.write(&self.target, &text, self.mode, self.owner).map_err(|source| match source {
            crate::directory::PathError::Escapes | crate::directory::PathError::Link => {
                TemplateError::DestinationEscapes
            }
            source => TemplateError::Write { path: path(), source },
        })?;
        self.text = Some(text);
        Ok(())
    }

    /// The variables that it adds to the environment.
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let text = self.text.as_deref().filter(|_| self.block.envvars);
        text.and_then(|text| dotenv::parse(text).ok()).unwrap_or_default()
    }
}
