//! Fake services over repositories that are made once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use fake_luci::{FakeLuci, Faults, Folder, MAIN, Shape, Slower, World};
use pinpoint_backends::TokioClock;
use pinpoint_backends::cas::Cas;
use pinpoint_backends::google::{TokenSource, Transport, Web};
use pinpoint_backends::luci::{
    Addresses, Benchmark, Intervals, LuciConfig, LuciExecutor, LuciServices, OutputError,
    TaskOutputs,
};
use pinpoint_backends::swarming::CasReference;
use pinpoint_core::bots::{Dimension, Swarming};
use pinpoint_core::{
    Bisection, BisectionSpec, CombinedCommit, Commit, Direction, Magnitude, Patch, Range,
    RetryPolicy, Series,
};
use tempfile::TempDir;

use crate::cas::fake::{Fake, Settings};
use crate::server::InProcess;

pub(crate) const BENCHMARK: &str = "speedometer3.crossbench";

/// The target that builds hold.
pub(crate) const TARGET: &str = "performance_test_suite";

/// A world, and the folder that it is in.
pub(crate) struct LuciWorld {
    pub(crate) world: World,
    pub(crate) dir: Folder,
}

impl LuciWorld {
    fn new(slower: Slower) -> Self {
        let dir = Folder::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "luci");
        let world = World::make(dir.path(), &Shape::small(slower));
        Self { world, dir }
    }
}

/// Slower from a commit of the main repository on.
pub(crate) static IN_MAIN: LazyLock<LuciWorld> = LazyLock::new(|| LuciWorld::new(Slower::Main(17)));

/// Slower from a commit of the dependency on, which is rolled by a commit of the main one.
pub(crate) static IN_ROLL: LazyLock<LuciWorld> =
    LazyLock::new(|| LuciWorld::new(Slower::Dependency(4)));

/// Slower nowhere.
pub(crate) static NOWHERE: LazyLock<LuciWorld> = LazyLock::new(|| LuciWorld::new(Slower::Never));

/// Reads the outputs of tasks from the memory of the services.
struct Memory(FakeLuci);

#[async_trait]
impl TaskOutputs for Memory {
    async fn charts(
        &self,
        root: &CasReference,
        _: &str,
    ) -> Result<BTreeMap<String, Series>, OutputError> {
        assert_eq!(root.cas_instance, fake_luci::INSTANCE);
        let value = self.0.results(&root.digest.to_string());
        let value = value.ok_or_else(|| OutputError::None("no such output".into()))?;
        let series = Series {
            values: vec![value],
            ..Series::default()
        };
        Ok([("Score".to_owned(), series)].into())
    }
}

/// Copies the outputs of tasks to a store, and reads them there.
struct Mirrored {
    luci: FakeLuci,
    store: Fake,
    cas: Cas,
}

#[async_trait]
impl TaskOutputs for Mirrored {
    async fn charts(
        &self,
        root: &CasReference,
        benchmark: &str,
    ) -> Result<BTreeMap<String, Series>, OutputError> {
        for blob in self.luci.blobs() {
            self.store.add(blob);
        }
        TaskOutputs::charts(&self.cas, root, benchmark).await
    }
}

pub(crate) struct Fixture {
    pub(crate) luci: FakeLuci,
    place: &'static LuciWorld,
    cache: TempDir,
    server: InProcess,
    seed: u64,
}

impl Fixture {
    pub(crate) fn new(place: &'static LuciWorld, seed: u64, faults: Faults) -> Self {
        Self::at_speed(place, seed, faults, 1)
    }

    /// Services whose time runs `speed` times as fast.
    pub(crate) fn at_speed(
        place: &'static LuciWorld,
        seed: u64,
        faults: Faults,
        speed: u64,
    ) -> Self {
        let luci = FakeLuci::with(place.world.repositories(), seed, faults, speed);
        Self {
            server: InProcess::new(luci.routes()),
            luci,
            place,
            cache: tempfile::tempdir_in(place.dir.path()).unwrap(),
            seed,
        }
    }

    pub(crate) fn world(&self) -> &'static World {
        &self.place.world
    }

    pub(crate) fn commit(&self, index: usize) -> CombinedCommit {
        Commit::new(MAIN, &self.place.world.main_hashes[index]).into()
    }

    /// A commit with a patch set at Gerrit.
    pub(crate) fn patched(&self, index: usize) -> CombinedCommit {
        let patch = Patch::Gerrit {
            host: "chromium-review.googlesource.com".into(),
            project: "chromium/src".into(),
            change: 7,
            patchset: 2,
            hash: None,
        };
        CombinedCommit {
            patch: Some(patch),
            ..self.commit(index)
        }
    }

    /// Reads the outputs of tasks from a store over gRPC, which gets them from the services first.
    pub(crate) async fn outputs_in_cas(&self) -> Arc<dyn TaskOutputs> {
        let store = Fake::start(Settings::default()).await;
        Arc::new(Mirrored {
            luci: self.luci.clone(),
            cas: store.client(),
            store,
        })
    }

    /// The executor of a process that has just begun.
    pub(crate) fn executor(&self) -> LuciExecutor {
        self.executor_of(TARGET)
    }

    /// Like [`executor`](Self::executor), with the benchmark in another target.
    pub(crate) fn executor_of(&self, target: &str) -> LuciExecutor {
        self.executor_with(machines(), benchmark(BENCHMARK, target))
    }

    /// Like [`executor`](Self::executor), of this benchmark on these machines.
    pub(crate) fn executor_with(&self, machines: Swarming, benchmark: Benchmark) -> LuciExecutor {
        let addresses = Addresses {
            gitiles: "https://gitiles.example.org/gitiles/{host}".into(),
            ..Addresses::default()
        };
        let transport: Arc<dyn Transport> = Arc::new(self.server.clone());
        let intervals = Intervals::default();
        let source = TokenSource::Metadata("http://metadata".into());
        executor(
            Arc::new(Memory(self.luci.clone())),
            self.cache.path(),
            &addresses,
            &source,
            &transport,
            (machines, benchmark),
            (intervals, self.seed),
        )
    }

    /// The services, within this process.
    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.server.clone())
    }

    /// Serves on loopback; the address.
    pub(crate) async fn serve(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let routes = self.luci.routes();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        address
    }

    /// Like [`executor`](Self::executor), over HTTP.
    pub(crate) async fn executor_over_http(&self, outputs: Arc<dyn TaskOutputs>) -> LuciExecutor {
        let address = self.serve().await;
        self.executor_at(outputs, &address, &address)
    }

    /// Like [`executor`](Self::executor), with the services at this address, and those of pRPC at
    /// another.
    pub(crate) fn executor_at(
        &self,
        outputs: Arc<dyn TaskOutputs>,
        address: &str,
        prpc: &str,
    ) -> LuciExecutor {
        let addresses = Addresses {
            gitiles: format!("{address}/gitiles/{{host}}"),
            gitiles_per_second: 1_000,
            crrev: address.into(),
            buildbucket: prpc.into(),
            swarming: Some(prpc.into()),
            ..Addresses::default()
        };
        let transport: Arc<dyn Transport> = Arc::new(Web::new().unwrap());
        let intervals = Intervals {
            tasks: 10,
            builds: 10,
            first_of_pair: 1,
        };
        let source = TokenSource::Metadata(address.into());
        executor(
            outputs,
            self.cache.path(),
            &addresses,
            &source,
            &transport,
            (machines(), benchmark(BENCHMARK, TARGET)),
            (intervals, self.seed),
        )
    }

    pub(crate) fn spec(&self) -> BisectionSpec {
        BisectionSpec {
            chart: Some("Score".into()),
            direction: Direction::Down,
            // Half of the change, and ten times the scatter: faults are what is tested here, not
            // chance, whose probability each answer states.
            magnitude: Some(Magnitude::Absolute(10.0)),
            retry: RetryPolicy {
                tries: 6,
                ..RetryPolicy::default()
            },
            ..BisectionSpec::new(Range::Between {
                good: self.commit(0),
                bad: self.commit(23),
            })
        }
    }

    pub(crate) fn search(&self) -> Bisection {
        Bisection::new(self.spec()).unwrap()
    }

    /// Returns whether a named culprit is a real one.
    pub(crate) fn is_culprit(&self, commit: &CombinedCommit) -> bool {
        let (main, held) = (&commit.main.git_hash, commit.modified_deps.first());
        let world = &self.place.world;
        if std::ptr::eq(self.place, &*IN_MAIN) {
            return *main == world.main_hashes[17] && held.is_none();
        }
        std::ptr::eq(self.place, &*IN_ROLL)
            && *main == world.main_hashes[8]
            && held.is_some_and(|held| held.commit.git_hash == world.dependency_hashes[4])
    }
}

fn executor(
    outputs: Arc<dyn TaskOutputs>,
    cache: &Path,
    addresses: &Addresses,
    source: &TokenSource,
    transport: &Arc<dyn Transport>,
    (machines, benchmark): (Swarming, Benchmark),
    (intervals, seed): (Intervals, u64),
) -> LuciExecutor {
    let server = machines.swarming_server.clone();
    let seed = Some(seed);
    let services = LuciServices::new(addresses, &server, source, transport, cache, outputs, seed);
    let mut config = LuciConfig::new(machines, benchmark, 7);
    config.settings.intervals = intervals;
    LuciExecutor::new(config, services.unwrap()).unwrap()
}

pub(crate) fn machines() -> Swarming {
    Swarming {
        browser: "release".into(),
        bucket: "luci.chrome.try".into(),
        builder: "Linux Builder Perf".into(),
        swarming_server: "https://chrome-swarming.example.org".into(),
        dimensions: vec![Dimension {
            key: "pool".into(),
            value: "chrome.tests.pinpoint".into(),
        }],
        extra_test_args: Vec::new(),
    }
}

pub(crate) fn benchmark(name: &str, target: &str) -> Benchmark {
    Benchmark {
        name: name.into(),
        target: target.into(),
        story: None,
        story_tags: None,
        arguments: Vec::new(),
    }
}

pub(crate) const CLOCK: TokioClock = TokioClock;
