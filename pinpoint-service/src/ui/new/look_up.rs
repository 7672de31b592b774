//! Look-ups of typed values: a commit, a change at Gerrit, suggestions of a list.

use maud::{Markup, html};
use pinpoint_backends::local::CommitName;
use pinpoint_core::api::{GetCommitResponse, GetPatchResponse};
use pinpoint_core::bots::{Workers, completions};
use pinpoint_report::{Foreign, clean};
use tonic::Status;

use super::patch_name;
use crate::jobs::commits::RECENT;
use crate::jobs::gerrit::NO_GERRIT;
use crate::state::Service;
use crate::ui::dates::ago;
use crate::ui::problems::sentence;

/// Digits of a hash that name a commit to people.
const SHORT: usize = 12;

/// A commit with its author, subject, position and review, or the reason why none was found.
pub(super) async fn commit(service: &Service, bot: &str, text: &str) -> Markup {
    if text.is_empty() {
        return html! {};
    }
    match found(service, bot, text).await {
        Ok(commit) => commit,
        Err(status) => problem(status.message()),
    }
}

async fn found(service: &Service, bot: &str, text: &str) -> Result<Markup, Status> {
    let bot = service.bots.get(bot).ok();
    let bot = bot.filter(|bot| !matches!(bot.workers, Workers::Swarming(_)));
    let recent = match (text, &bot) {
        (RECENT, Some(bot)) => match service.full_hash(bot, text).await? {
            Ok(hash) => Some(hash),
            Err(missing) => return Ok(problem(&missing)),
        },
        (RECENT, None) => return Ok(problem("enter the bot first")),
        _ => None,
    };
    let name = recent.as_deref().unwrap_or(text);
    let name: CommitName = match name.parse() {
        Ok(name) => name,
        Err(error) => return Ok(problem(&format!("{error}, or {RECENT}"))),
    };
    let repository = bot.and_then(|bot| bot.repository);
    let Some(commits) = &service.commits else {
        return Ok(match (recent, name.is_full_hash()) {
            (Some(hash), _) => html! { p { code { (hash) } } },
            (None, true) => html! {},
            (None, false) => problem("enter all 40 digits: this service can't look up commits"),
        });
    };
    let repository = match repository {
        Some(repository) => repository,
        None => service.main_repository()?.1,
    };
    let commit = service.commit_in(commits, repository, &name).await?;
    Ok(shown(&commit))
}

fn shown(commit: &GetCommitResponse) -> Markup {
    let short = commit.git_hash.get(..SHORT).unwrap_or(&commit.git_hash);
    html! {
        p {
            @match &*commit.url {
                "" => code { (short) },
                url => a href=(url) rel="noreferrer" { code { (short) } },
            }
            " " (Foreign(&commit.subject))
        }
        p.soft {
            (Foreign(&commit.author))
            @if let Ok(created) = commit.created.parse() { ", " (ago(Some(&created))) }
            @if !commit.commit_branch.is_empty() {
                ", " (Foreign(&format!("{}@{{#{}}}", commit.commit_branch, commit.commit_position)))
            }
            @if !commit.review_url.is_empty() {
                ", " a href=(clean(&commit.review_url)) rel="noreferrer" { "review" }
            }
        }
    }
}

/// A change at Gerrit with its author and subject, or the reason why none was found.
pub(super) async fn patch(service: &Service, text: &str) -> Markup {
    if text.is_empty() {
        return html! {};
    }
    let gerrit = service.gerrit.as_ref();
    let Some(gerrit) = gerrit.filter(|gerrit| !gerrit.hosts().is_empty()) else {
        return problem(NO_GERRIT);
    };
    let request = match patch_name::read(text, gerrit.hosts()) {
        Ok(request) => request,
        Err(wrong) => return problem(&wrong),
    };
    match gerrit.patch(request).await {
        Ok(found) => shown_patch(&found),
        Err(status) => problem(status.message()),
    }
}

fn shown_patch(patch: &GetPatchResponse) -> Markup {
    let GetPatchResponse {
        host,
        change,
        patchset,
        project,
        author,
        subject,
        created,
    } = patch;
    html! {
        p {
            // The host is one of the operator's list.
            a href=(format!("https://{host}/{change}/{patchset}")) rel="noreferrer" {
                (change) "/" (patchset)
            }
            " " (Foreign(subject))
        }
        p.soft {
            (Foreign(author)) ", " (Foreign(project))
            @if let Ok(created) = created.parse() { ", " (ago(Some(&created))) }
        }
    }
}

fn problem(text: &str) -> Markup {
    html! { p.error { (Foreign(&sentence(text))) } }
}

/// The commits that were last built for a bot, as suggestions.
pub(super) async fn builds(service: &Service, bot: &str) -> Result<Markup, Status> {
    let builds = match service.bots.get(bot) {
        Ok(bot) => service.recent_builds(&bot).await?,
        Err(_) => Vec::new(),
    };
    Ok(html! {
        option value="HEAD" { "the newest commit" }
        @if !builds.is_empty() { option value=(RECENT) { "the last build" } }
        @for build in builds {
            option value=(build.git_hash) { "built " (ago(build.created.as_ref())) }
        }
    })
}

/// Names, those that fit the typed text first. Browsers suggest options that contain the text: the
/// others that fit have it in their labels.
pub(super) fn names<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Markup {
    let names: Vec<&str> = names.collect();
    // Punctuation alone fits every name.
    let has_letters = typed.contains(char::is_alphanumeric);
    let typed = clean(if has_letters { typed.trim() } else { "" });
    let fitting = completions(&typed, names.iter().copied());
    let others = names.iter().filter(|name| !fitting.contains(name));
    let label = |name: &str| {
        let is_part = name.to_lowercase().contains(&typed.to_lowercase());
        (!is_part).then(|| format!("{name}, for {typed}"))
    };
    html! {
        @for name in &fitting { option value=(name) label=[label(name)] {} }
        @for name in others { option value=(name) {} }
    }
}

/// The bots that a field suggests.
pub(super) fn bots(service: &Service, typed: &str) -> Markup {
    names(typed, service.usable_bots().map(|bot| bot.name))
}

/// The benchmarks that a field suggests.
pub(super) fn benchmarks(service: &Service, typed: &str) -> Markup {
    names(typed, service.benchmark_names())
}

/// The stories of a benchmark, as suggestions.
pub(super) fn stories(service: &Service, benchmark: &str) -> Markup {
    let benchmark = service.bots.benchmarks().get(benchmark);
    let stories = benchmark.map_or(&[][..], |benchmark| &benchmark.stories);
    html! { @for story in stories { option value=(story) {} } }
}
