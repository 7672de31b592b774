//! A browser on a bot: the arguments of its runs, and the names of its jobs and results.

use std::fmt;
use std::str::FromStr;

use super::tables::CbbTables;

/// The seed of the variations that most users of Chrome have.
const SEED: &str = "--variations-test-seed-path=../../components/variations/test_data/cipd/\
                    single_group_per_study_prefer_existing_behavior/seed.json";

/// The most runs of a hundred that may fail.
pub const MOST_FAILING_PERCENT: u64 = 20;

/// A browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Browser {
    /// Google's.
    Chrome,
    /// Microsoft's.
    Edge,
    /// Apple's.
    Safari,
}

/// A channel of a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// For all users.
    Stable,
    /// Of Chrome and Edge, for developers.
    Dev,
    /// Of Safari, for developers.
    TechnologyPreview,
}

/// A browser can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CbbError {
    /// The browser is unknown.
    #[error("{0:?} is no browser that is compared; choose chrome, edge or safari")]
    Browser(String),
    /// The channel is unknown.
    #[error("{0:?} is no channel; choose stable, dev or technology-preview")]
    Channel(String),
    /// The browser has no such channel.
    #[error("{browser} has no channel {channel}; choose {known}")]
    NoChannel {
        /// The browser.
        browser: Browser,
        /// The channel.
        channel: Channel,
        /// Its channels, in words.
        known: &'static str,
    },
    /// The bot is not one of those that compare browsers.
    #[error("{0:?} is no bot that browsers are compared on; add it to the tables")]
    Bot(String),
}

impl Browser {
    fn as_str(self) -> &'static str {
        match self {
            Self::Chrome => "chrome",
            Self::Edge => "edge",
            Self::Safari => "safari",
        }
    }

    /// The name for people.
    fn title(self) -> &'static str {
        match self {
            Self::Chrome => "Chrome",
            Self::Edge => "Edge",
            Self::Safari => "Safari",
        }
    }
}

impl Channel {
    fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Dev => "dev",
            Self::TechnologyPreview => "technology-preview",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Stable => "Stable",
            Self::Dev => "Dev",
            Self::TechnologyPreview => "Technology Preview",
        }
    }
}

impl fmt::Display for Browser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Browser {
    type Err = CbbError;

    fn from_str(text: &str) -> Result<Self, CbbError> {
        let all = [Self::Chrome, Self::Edge, Self::Safari];
        let found = all.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| CbbError::Browser(text.into()))
    }
}

impl FromStr for Channel {
    type Err = CbbError;

    fn from_str(text: &str) -> Result<Self, CbbError> {
        let all = [Self::Stable, Self::Dev, Self::TechnologyPreview];
        let found = all.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| CbbError::Channel(text.into()))
    }
}

/// A version of a browser on a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedBrowser {
    /// The browser.
    pub browser: Browser,
    /// Its channel.
    pub channel: Channel,
    /// Its version, as `testing/perf/cbb_ref_info` names it.
    pub version: String,
    /// The bot.
    pub bot: String,
    /// Without the variations that Finch brings, or the configuration of field trials.
    pub skip_finch: bool,
    platform: String,
    short_bot: String,
}

impl ComparedBrowser {
    /// A browser on a bot of these tables.
    ///
    /// # Errors
    ///
    /// When the browser has no such channel, or the tables no such bot.
    pub fn new(
        tables: &CbbTables,
        browser: Browser,
        channel: Channel,
        version: &str,
        bot: &str,
    ) -> Result<Self, CbbError> {
        use Browser::{Chrome, Edge, Safari};
        use Channel::{Dev, Stable, TechnologyPreview};
        match (browser, channel) {
            (_, Stable) | (Chrome | Edge, Dev) | (Safari, TechnologyPreview) => {}
            _ => {
                return Err(CbbError::NoChannel {
                    browser,
                    channel,
                    known: match browser {
                        Safari => "stable or technology-preview",
                        Chrome | Edge => "stable or dev",
                    },
                });
            }
        }
        let found = tables.bot(bot);
        let (platform, found) = found.ok_or_else(|| CbbError::Bot(bot.into()))?;
        Ok(Self {
            browser,
            channel,
            version: version.into(),
            bot: bot.into(),
            skip_finch: false,
            platform: platform.into(),
            short_bot: found.short.clone(),
        })
    }

    /// The same without Finch.
    #[must_use]
    pub fn without_finch(self) -> Self {
        Self {
            skip_finch: true,
            ..self
        }
    }

    /// The file of a commit that names the version.
    pub fn ref_info(browser: Browser, channel: Channel, platform: &str) -> String {
        format!("testing/perf/cbb_ref_info/{browser}/{channel}/{platform}.json")
    }

    fn is_chrome_on_desktop(&self) -> bool {
        self.browser == Browser::Chrome && self.platform != "android"
    }

    /// The arguments of its runs, besides those of the benchmark.
    pub fn arguments(&self) -> Vec<String> {
        let Self {
            browser,
            channel,
            version,
            ..
        } = self;
        let mut arguments = vec![match browser {
            Browser::Chrome => format!("--official-browser={browser}-{channel}-{version}"),
            Browser::Edge | Browser::Safari => format!("--official-browser={browser}-{channel}"),
        }];
        match channel {
            Channel::Stable if self.is_chrome_on_desktop() && !self.skip_finch => {
                arguments.push(SEED.into());
            }
            Channel::Dev if self.is_chrome_on_desktop() && self.skip_finch => {
                arguments.push("--disable-field-trial-config".into());
            }
            _ => {}
        }
        if self.bot.starts_with("android-pixel") {
            arguments.push("--reinstall".into());
        }
        arguments
    }

    /// The name of the job and its tasks that run a benchmark of this short name.
    pub fn job_name(&self, benchmark: &str) -> String {
        let browser = match (self.browser, self.channel) {
            (Browser::Safari, Channel::TechnologyPreview) => "stp".to_owned(),
            (browser, channel) => {
                let short = browser.as_str().get(..3).unwrap_or_default();
                match channel {
                    Channel::Stable => short.to_owned(),
                    channel => format!("{short} {channel}"),
                }
            }
        };
        let finch = if self.skip_finch { " sf" } else { "" };
        let version = self.short_version();
        format!(
            "CBB {browser}{finch} {version} {} {benchmark}",
            self.short_bot
        )
    }

    /// Of Safari, the version without its build: `18.4` of `18.4 (20621.1.15)`; of its preview, the
    /// release: `223` of `26.0 (Release 223, 20622.1.18)`.
    pub fn short_version(&self) -> &str {
        let version = self.version.as_str();
        match (self.browser, self.channel) {
            (Browser::Safari, Channel::TechnologyPreview) => {
                let release = version.split_once("Release ");
                let release = release.map_or(version, |(_, release)| release);
                release.split(',').next().unwrap_or(release)
            }
            (Browser::Safari, _) => version.split(' ').next().unwrap_or(version),
            _ => version,
        }
    }

    /// The name in results.
    pub fn title(&self) -> String {
        let title = format!("{} {}", self.browser.title(), self.channel.title());
        match (self.is_chrome_on_desktop(), self.channel, self.skip_finch) {
            (true, Channel::Stable, false) => title + " (Top Finch Variations)",
            (true, Channel::Dev, true) => title + " (Disable Field Trial)",
            _ => title,
        }
    }
}

/// Returns whether so many runs gave values that the result counts.
pub fn is_enough(with_values: usize, all: usize) -> bool {
    let (with_values, all) = (with_values as u64, all as u64);
    all > 0 && with_values * 100 >= all * (100 - MOST_FAILING_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: &str = "mac-m3-pro-perf-cbb";
    const TABLET: &str = "android-pixel-tangor-perf-cbb";
    const PREVIEW: &str = "26.0 (Release 223, 20622.1.18.11.5)";

    fn on(browser: Browser, channel: Channel, version: &str, bot: &str) -> ComparedBrowser {
        ComparedBrowser::new(CbbTables::builtin(), browser, channel, version, bot).unwrap()
    }

    #[test]
    fn each_browser_has_its_arguments() {
        use Browser::{Chrome, Edge, Safari};
        use Channel::{Dev, Stable, TechnologyPreview};
        let version = "137.0.7151.70";
        let official = "--official-browser=chrome-stable-137.0.7151.70";
        let dev = "--official-browser=chrome-dev-137.0.7151.70";
        let stable = on(Chrome, Stable, version, MAC);
        assert_eq!(stable.arguments(), [official, SEED]);
        assert_eq!(stable.without_finch().arguments(), [official]);
        let developers = on(Chrome, Dev, version, MAC);
        assert_eq!(developers.arguments(), [dev]);
        let off = "--disable-field-trial-config";
        assert_eq!(developers.without_finch().arguments(), [dev, off]);
        let tablet = on(Chrome, Stable, version, TABLET);
        assert_eq!(tablet.arguments(), [official, "--reinstall"]);
        let edge = on(Edge, Dev, "140.0.3430.1", "win-victus-perf-cbb");
        assert_eq!(edge.arguments(), ["--official-browser=edge-dev"]);
        let preview = on(Safari, TechnologyPreview, PREVIEW, MAC);
        assert_eq!(
            preview.arguments(),
            ["--official-browser=safari-technology-preview"]
        );
        assert!(SEED.ends_with("cipd/single_group_per_study_prefer_existing_behavior/seed.json"));
    }

    #[test]
    fn jobs_have_short_names() {
        use Browser::{Chrome, Edge, Safari};
        use Channel::{Dev, Stable, TechnologyPreview};
        for (compared, expected) in [
            (
                on(Chrome, Stable, "137.0.7151.70", MAC),
                "CBB chr 137.0.7151.70 m3 SP",
            ),
            (
                on(Chrome, Dev, "139.0.7232.3", MAC).without_finch(),
                "CBB chr dev sf 139.0.7232.3 m3 SP",
            ),
            (
                on(Edge, Stable, "138.0.3351.83", TABLET),
                "CBB edg 138.0.3351.83 tang SP",
            ),
            (
                on(Safari, Stable, "18.4 (20621.1.15.11.10)", MAC),
                "CBB saf 18.4 m3 SP",
            ),
            (
                on(Safari, TechnologyPreview, PREVIEW, MAC),
                "CBB stp 223 m3 SP",
            ),
            (
                on(Safari, TechnologyPreview, PREVIEW, MAC).without_finch(),
                "CBB stp sf 223 m3 SP",
            ),
        ] {
            assert_eq!(compared.job_name("SP"), expected);
        }
    }

    #[test]
    fn results_say_which_variations_there_were() {
        use Browser::{Chrome, Safari};
        use Channel::{Dev, Stable, TechnologyPreview};
        let stable = on(Chrome, Stable, "1.2.3.4", MAC);
        assert_eq!(stable.title(), "Chrome Stable (Top Finch Variations)");
        assert_eq!(stable.without_finch().title(), "Chrome Stable");
        let dev = on(Chrome, Dev, "1.2.3.4", MAC);
        assert_eq!(dev.title(), "Chrome Dev");
        assert_eq!(
            dev.without_finch().title(),
            "Chrome Dev (Disable Field Trial)"
        );
        assert_eq!(
            on(Chrome, Stable, "1.2.3.4", TABLET).title(),
            "Chrome Stable"
        );
        let preview = on(Safari, TechnologyPreview, PREVIEW, MAC);
        assert_eq!(preview.title(), "Safari Technology Preview");
    }

    #[test]
    fn what_is_not_compared_is_refused() {
        let tables = CbbTables::builtin();
        let new = |browser, channel, bot| ComparedBrowser::new(tables, browser, channel, "1", bot);
        let wrong = new(Browser::Safari, Channel::Dev, MAC).unwrap_err();
        assert!(
            wrong.to_string().contains("stable or technology-preview"),
            "{wrong}"
        );
        let wrong = new(Browser::Edge, Channel::TechnologyPreview, MAC).unwrap_err();
        assert!(wrong.to_string().contains("stable or dev"), "{wrong}");
        let wrong = new(Browser::Edge, Channel::Dev, "linux-perf").unwrap_err();
        assert_eq!(wrong, CbbError::Bot("linux-perf".into()));
        assert!("opera".parse::<Browser>().is_err() && "beta".parse::<Channel>().is_err());
    }

    #[test]
    fn four_of_five_runs_are_enough() {
        assert!(is_enough(18, 22) && !is_enough(17, 22));
        assert!(is_enough(120, 150) && !is_enough(119, 150));
        assert!(!is_enough(0, 0));
    }
}
