//! `alloc fs`: files of an allocation (`docs/spec/cli.md §9.2`).

use super::choice::ChoiceFlags;
use super::tail::{Start, TailFlags, copy, last_lines};
use crate::exit_status::FOLLOWING;
use crate::prelude::*;
use crate::render::table::{Form, headed, table};
use crate::render::values::{self, written_time};
use encamp_api::{ApiError, Query, path};
use encamp_model::AllocListStub;
use encamp_model::responses::AllocFileInfo;

/// Inspect the files of an allocation
///
/// Lists a directory of an allocation or prints a file. The second argument is the path; the default is the root of the
/// allocation directory.
#[derive(Debug, clap::Parser)]
pub struct AllocFs {
    /// Print sizes in bytes
    #[arg(long = "H")]
    pub machine: bool,
    /// Show file information instead of the contents
    #[arg(long)]
    pub stat: bool,
    /// Follow the file as it grows
    #[arg(long = "f")]
    pub follow: bool,
    #[command(flatten)]
    pub(crate) end: TailFlags,
    #[command(flatten)]
    pub(crate) choice: ChoiceFlags,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<allocation> [path]", add = ChoiceFlags::COMPLETED)]
    pub(crate) args: Vec<String>,
}

impl Run for AllocFs {
    const META: Meta = Meta::new("alloc fs").alias("fs", Listing::Alias).exit_status(FOLLOWING).examples(&[
        ("List the directory of an allocation", "encamp alloc fs 8ba85cef"),
        ("Print a file", "encamp alloc fs 8ba85cef server/local/web.conf"),
        ("Follow a log file", "encamp alloc fs -f -tail -n 20 8ba85cef alloc/logs/server.stdout.0"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (name, file) = match self.args.as_slice() {
            [name] => (name, "/"),
            [name, file] => (name, file.as_str()),
            [] => return self.choice.missing(context),
            _ => return context.usage_error("This command takes one or two arguments: <allocation> [<path>]"),
        };
        let start = match self.end.start() {
            Ok(start) => start,
            Err(e) => return context.failure(&e.to_string()),
        };
        context.connected(&self.general, |c, context| {
            let stub = self.choice.allocation(c, context, name, self.verbose)?;
            Ok(self.show(c, context, &stub, file, start)?)
        })
    }
}

impl AllocFs {
    fn show(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        stub: &AllocListStub,
        file: &str,
        start: Start,
    ) -> Result<u8, ApiError> {
        let (info, _) = c.wait(c.client.stat_file(&stub.namespace, &stub.id, file))?;
        if self.stat {
            let row = format!("{}|{}|{}", self.cells(&info), info.content_type, info.name);
            let header = "Mode|Size|Modified Time|Content Type|Name".to_string();
            context.ui.output(&table(&[header, row], Form::List));
            return Ok(0);
        }
        if info.is_dir {
            let (files, _) = c.wait(c.client.list_files(&stub.namespace, &stub.id, file))?;
            let rows = files.iter().map(|f| format!("{}|{}{}", self.cells(f), f.name, if f.is_dir { "/" } else { "" }));
            context.ui.output(&table(&headed("Mode|Size|Modified Time|Name", rows), Form::List));
            return Ok(0);
        }
        let query = Query::in_namespace(&stub.namespace).with("path", file);
        if self.follow {
            return self.follow(c, context, stub, query, start);
        }
        match start.before_end {
            None => self.copy(c, context, &path("/v1/client/fs/cat/", &stub.id, ""), &query),
            Some(before_end) => {
                let offset = info.size.saturating_sub(before_end);
                let query = query.with("offset", offset.to_string()).with("limit", "0");
                let to = path("/v1/client/fs/readat/", &stub.id, "");
                let Some(lines) = start.lines else { return self.copy(c, context, &to, &query) };
                let bytes = c.wait(c.client.bytes(&to, &query))?;
                context.ui.bytes(last_lines(&bytes, lines));
                Ok(0)
            }
        }
    }

    /// Mode, size and time of a file.
    fn cells(&self, f: &AllocFileInfo) -> String {
        let size = if self.machine { f.size.to_string() } else { values::bytes(f.size) };
        format!("{}|{size}|{}", f.file_mode, written_time(f.mod_time))
    }

    fn copy(&self, c: &Connection, context: &mut Context<'_, '_>, to: &str, query: &Query) -> Result<u8, ApiError> {
        c.wait(async {
            let mut stream = c.client.stream(to, query, false).await?;
            while let Some(bytes) = stream.next().await? {
                if !context.ui.bytes(&bytes) {
                    break;
                }
            }
            Ok(0)
        })
    }

    fn follow(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        stub: &AllocListStub,
        query: Query,
        start: Start,
    ) -> Result<u8, ApiError> {
        let query = start.added_to(query.with("follow", "true"));
        c.wait(async {
            let frames = c.client.frames(&path("/v1/client/fs/stream/", &stub.id, ""), &query).await?;
            copy(frames, start.lines, |data| context.ui.bytes(data)).await.map(|()| 0)
        })
    }
}
