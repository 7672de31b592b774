//! The calls to Buildbucket.

use serde_json::{Value, json};

use super::messages::{
    Build, BuilderId, CancelBuildRequest, FoundBuilds, GetBuildRequest, Mask, ScheduleBuildRequest,
    SearchBuilds,
};
use super::plan::search_by_key;
use crate::google::{Client, Prpc, ServiceError};

/// The address of the service.
pub const ADDRESS: &str = "https://cr-buildbucket.appspot.com";

/// Pages of a search, at most: builds of one commit are few.
const MOST_PAGES: usize = 50;

/// The client of Buildbucket.
pub struct Buildbucket(Prpc);

impl Buildbucket {
    /// Asks through this client.
    pub fn new(client: Client) -> Self {
        Self(Prpc::new(client, "buildbucket.v2.Builds"))
    }

    /// Asks for a build, once: Buildbucket knows a request by its id for a minute, and an answer
    /// may take longer. After trouble, search for the build before asking again.
    ///
    /// # Errors
    ///
    /// When Buildbucket cannot be asked, or refuses.
    pub async fn schedule(&self, request: &ScheduleBuildRequest) -> Result<Build, ServiceError> {
        self.0.call_once("ScheduleBuild", request).await
    }

    /// The request of a build, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered(&self, request: &ScheduleBuildRequest) -> Result<String, ServiceError> {
        self.0.rendered("ScheduleBuild", request)
    }

    /// The request of a search, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_search(&self, request: &SearchBuilds) -> Result<String, ServiceError> {
        self.0.rendered("SearchBuilds", request)
    }

    /// All builds that a search finds, newest first.
    ///
    /// # Errors
    ///
    /// When Buildbucket cannot be asked, or refuses.
    pub async fn search(&self, request: &SearchBuilds) -> Result<Vec<Build>, ServiceError> {
        let mut request = request.clone();
        let mut found = Vec::new();
        for _ in 0..MOST_PAGES {
            let page: FoundBuilds = self.0.call("SearchBuilds", &request).await?;
            found.extend(page.builds);
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        Ok(found)
    }

    /// The newest builds that a search finds, newest first: one page.
    ///
    /// # Errors
    ///
    /// When Buildbucket cannot be asked, or refuses.
    pub async fn search_page(&self, request: &SearchBuilds) -> Result<Vec<Build>, ServiceError> {
        let page: FoundBuilds = self.0.call("SearchBuilds", request).await?;
        Ok(page.builds)
    }

    /// The builds that an action has asked for, newest first.
    ///
    /// # Errors
    ///
    /// When Buildbucket cannot be asked, or refuses.
    pub async fn asked_for(
        &self,
        builder: &BuilderId,
        key: &str,
    ) -> Result<Vec<Build>, ServiceError> {
        self.search(&search_by_key(builder, key)).await
    }

    /// The question for the builds of an action, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_asked_for(
        &self,
        builder: &BuilderId,
        key: &str,
    ) -> Result<String, ServiceError> {
        self.rendered_search(&search_by_key(builder, key))
    }

    /// A build by its id.
    ///
    /// # Errors
    ///
    /// When it does not exist, or Buildbucket cannot be asked.
    pub async fn get(&self, id: i64) -> Result<Build, ServiceError> {
        self.0.call("GetBuild", &get_request(id)).await
    }

    /// The question for a build, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_get(&self, id: i64) -> Result<String, ServiceError> {
        self.0.rendered("GetBuild", &get_request(id))
    }

    /// The status of a build, and nothing else of it.
    ///
    /// # Errors
    ///
    /// When it does not exist, or Buildbucket cannot be asked.
    pub async fn status(&self, id: i64) -> Result<Build, ServiceError> {
        self.0.call("GetBuildStatus", &status_request(id)).await
    }

    /// The question for the status of a build, as text for `--dry-run`.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn rendered_status(&self, id: i64) -> Result<String, ServiceError> {
        self.0.rendered("GetBuildStatus", &status_request(id))
    }

    /// Asks to end a build. One that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// When it does not exist, or Buildbucket cannot be asked.
    pub async fn cancel(&self, id: i64, reason: &str) -> Result<Build, ServiceError> {
        let request = CancelBuildRequest {
            id,
            summary_markdown: reason.into(),
        };
        self.0.call("CancelBuild", &request).await
    }
}

fn status_request(id: i64) -> Value {
    json!({"id": id.to_string()})
}

fn get_request(id: i64) -> GetBuildRequest {
    GetBuildRequest {
        id,
        mask: Mask::default(),
    }
}
