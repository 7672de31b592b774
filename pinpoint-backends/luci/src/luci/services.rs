//! The addresses and clients of the services.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::outputs::TaskOutputs;
use crate::bigquery::BigQuery;
use crate::buildbucket::{self, Buildbucket};
use crate::cas;
use crate::catapult;
use crate::crrev::{self, Crrev};
use crate::gerrit;
use crate::gitiles::{Gitiles, GitilesConfig, PER_SECOND};
use crate::google::{AddressError, Client, TokenSource, Tokens, Transport, scope};
use crate::issue_tracker::IssueTracker;
use crate::swarming::Swarming;

/// The addresses of the services. By default the real ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Addresses {
    /// Of a host of Gitiles, in which `{host}` stands for its name.
    pub gitiles: String,
    /// Requests to a host of Gitiles in a second. Chromium's hosts ask for 4.
    pub gitiles_per_second: u32,
    /// Of a host of Gerrit, in which `{host}` stands for its name.
    pub gerrit: String,
    /// Of crrev.
    pub crrev: String,
    /// Of Buildbucket.
    pub buildbucket: String,
    /// Of Swarming; the bot's server when absent.
    pub swarming: Option<String>,
    /// Of the store of files.
    pub cas: String,
    /// Of the issue tracker, which gets the results.
    pub issue_tracker: String,
    /// Of BigQuery, which has a table of culprits.
    pub bigquery: String,
    /// Of Catapult's database.
    pub catapult: String,
    /// Of the one for trials.
    pub catapult_staging: String,
}

impl Default for Addresses {
    fn default() -> Self {
        Self {
            gitiles: "https://{host}".into(),
            gitiles_per_second: PER_SECOND,
            gerrit: gerrit::ADDRESS.into(),
            crrev: crrev::ADDRESS.into(),
            buildbucket: buildbucket::ADDRESS.into(),
            swarming: None,
            cas: cas::ADDRESS.into(),
            issue_tracker: IssueTracker::GOOGLE.into(),
            bigquery: BigQuery::GOOGLE.into(),
            catapult: catapult::ADDRESS.into(),
            catapult_staging: catapult::STAGING.into(),
        }
    }
}

/// The clients of the services.
pub struct LuciServices {
    /// Histories.
    pub gitiles: Gitiles,
    /// Builds.
    pub buildbucket: Buildbucket,
    /// Tasks.
    pub swarming: Swarming,
    /// The outputs of tasks.
    pub outputs: Arc<dyn TaskOutputs>,
}

impl LuciServices {
    /// Clients of the services at these addresses. Sends no request yet.
    ///
    /// # Arguments
    ///
    /// `swarming_server` is that of the bot; `cache_dir` keeps the answers of Gitiles; `seed`
    /// decides the jitter of waits, which is random without it.
    ///
    /// # Errors
    ///
    /// When an address is invalid, or tokens would cross the network without HTTPS.
    pub fn new(
        addresses: &Addresses,
        swarming_server: &str,
        source: &TokenSource,
        transport: &Arc<dyn Transport>,
        cache_dir: &Path,
        outputs: Arc<dyn TaskOutputs>,
        seed: Option<u64>,
    ) -> Result<Self, AddressError> {
        let tokens = Tokens::new(source.clone(), &[scope::USERINFO_EMAIL], transport.clone());
        let client = |service, address: &str| {
            let client = Client::new(service, address, tokens.clone(), transport.clone())?;
            Ok(match seed {
                Some(seed) => client.with_seed(seed),
                None => client,
            })
        };
        let gitiles = GitilesConfig {
            address: addresses.gitiles.clone(),
            per_second: Some(addresses.gitiles_per_second),
            seed,
            ..GitilesConfig::new(cache_dir)
        };
        let crrev = Crrev::new(&addresses.crrev, transport.clone())?;
        let crrev = match seed {
            Some(seed) => crrev.with_seed(seed),
            None => crrev,
        };
        let gitiles = Gitiles::new(gitiles, source.clone(), transport.clone())?;
        let swarming = addresses.swarming.as_deref().unwrap_or(swarming_server);
        Ok(Self {
            gitiles: gitiles.with_crrev(Arc::new(crrev)),
            buildbucket: Buildbucket::new(client("Buildbucket", &addresses.buildbucket)?),
            swarming: Swarming::new(client("Swarming", swarming)?),
            outputs,
        })
    }
}
