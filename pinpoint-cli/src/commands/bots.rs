//! `pinpoint bots`: the bots and their build targets.

use std::path::PathBuf;

use pinpoint_core::bots::{Bot, Bots, ConfigFile, Workers};
use pinpoint_report::quantity::count;
use pinpoint_report::text::name;
use serde_json::json;

use crate::arguments::{self, BotsCommand, Display, Output};
use crate::error::CliError;
use crate::exit_code::FOUND;
use crate::show::output::{outln, print_json};
use crate::show::text::{BOLD, DIM};

pub(crate) fn run(arguments: &arguments::Bots, display: &Display) -> Result<u8, CliError> {
    let bots = read(&arguments.config)?;
    match &arguments.command {
        BotsCommand::List => list(&bots, display),
        BotsCommand::Show { bot } => show(&bots, bots.get(bot)?, display),
        BotsCommand::Target { bot, benchmark } => {
            let target = bots.target(bot, benchmark)?;
            match display.output {
                Output::Json => {
                    print_json(json!({ "bot": bot, "benchmark": benchmark, "target": target }))
                }
                Output::Text => outln!("{target}"),
            }
        }
    }
    Ok(FOUND)
}

/// The most bots that an error names.
const MOST_NAMED: usize = 20;

/// A bot whose jobs workers take.
///
/// # Errors
///
/// When it is unknown, or its jobs run elsewhere.
pub(crate) fn of_workers<'a>(bots: &'a Bots, name: &'a str) -> Result<Bot<'a>, CliError> {
    let bot = bots.get(name).map_err(|error| {
        let known: Vec<_> = bots.iter().map(|bot| format!("`{}`", bot.name)).collect();
        match known.len() {
            0..=MOST_NAMED => {
                CliError::Input(format!("{error}; the bots are {}", known.join(", ")))
            }
            _ => error.into(),
        }
    })?;
    let wrong = |reason: &str| Err(CliError::Input(format!("bot `{name}` {reason}")));
    match bot.workers {
        _ if bot.out_of_resources => wrong("is out of resources, and takes no jobs for now"),
        Workers::Machines(_) | Workers::Local => Ok(bot),
        Workers::Swarming(_) => wrong("runs on Swarming; no worker takes its jobs"),
        _ => wrong("has workers of a kind that this version does not support"),
    }
}

/// The bots of these files, or the built-in ones without files.
pub(crate) fn read(config: &[PathBuf]) -> Result<Bots, CliError> {
    if config.is_empty() {
        return Ok(Bots::builtin().clone());
    }
    let mut read = Vec::new();
    for path in config {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => read.push((name, text)),
            Err(error) => {
                let message = format!("can't read the bot configurations {name}: {error}");
                return Err(CliError::Input(message));
            }
        }
    }
    let files: Vec<_> = read
        .iter()
        .map(|(name, text)| ConfigFile { name, text })
        .collect();
    Bots::read(&files).map_err(CliError::BotConfigs)
}

fn list(bots: &Bots, display: &Display) {
    if display.output == Output::Json {
        let bots: Vec<_> = bots.iter().collect();
        print_json(json!(bots));
        return;
    }
    let width = bots.iter().map(|bot| name(bot.name).chars().count()).max();
    let width = width.unwrap_or_default();
    for bot in bots.iter() {
        let note = match (bot.out_of_resources, bot.no_culprit_finder) {
            (true, _) => ", out of resources",
            (false, true) => ", no culprit finders",
            (false, false) => "",
        };
        outln!(
            "{BOLD}{:<width$}{BOLD:#}  {DIM}{}{note}{DIM:#}",
            name(bot.name),
            kind(&bot),
        );
    }
}

/// A description of a bot in a few words.
fn kind(bot: &Bot<'_>) -> String {
    if bot.name != bot.configured_as {
        return format!("alias of {}", bot.configured_as);
    }
    match bot.workers {
        Workers::Local => "this machine".into(),
        Workers::Machines(machines) => count(machines.len() as u64, "machine"),
        Workers::Swarming(swarming) => format!("built by {}", swarming.builder),
        _ => "workers of a kind that this version does not support".into(),
    }
}

fn show(bots: &Bots, bot: Bot<'_>, display: &Display) {
    let names = [bot.name, bot.configured_as];
    let benchmarks: Vec<_> = bots
        .benchmarks()
        .iter()
        .filter(|(_, benchmark)| benchmark.bots.iter().any(|bot| names.contains(&&**bot)))
        .collect();
    if display.output == Output::Json {
        let mut document = json!(bot);
        document["benchmarks"] = benchmarks
            .iter()
            .map(|(name, benchmark)| json!({ "name": name, "stories": benchmark.stories }))
            .collect();
        print_json(&document);
        return;
    }
    let line = |title: &str, value: &str| outln!("  {DIM}{title:<16}{DIM:#}{value}");
    outln!("{BOLD}{}{BOLD:#}: {}", bot.name, kind(&bot));
    if bot.out_of_resources {
        outln!("  out of resources: takes no jobs for now");
    }
    if bot.no_culprit_finder {
        outln!("  too few machines: takes no culprit finders for now");
    }
    if let Some(repository) = bot.repository {
        line("repository", repository);
    }
    match bot.workers {
        Workers::Machines(machines) => line("machines", &machines.join(", ")),
        Workers::Swarming(swarming) => {
            line("browser", &swarming.browser);
            line("bucket", &swarming.bucket);
            line("builder", &swarming.builder);
            line("swarming server", &swarming.swarming_server);
            for dimension in &swarming.dimensions {
                line(
                    "dimension",
                    &format!("{}: {}", dimension.key, dimension.value),
                );
            }
            for argument in &swarming.extra_test_args {
                line("extra argument", argument);
            }
        }
        _ => {}
    }
    for (name, benchmark) in benchmarks {
        line(
            "benchmark",
            &format!("{name}: {}", benchmark.stories.join(", ")),
        );
    }
}
