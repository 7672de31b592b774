//! Seeded faults: with any of them, the result is right, or a fitting error.

use pinpoint_backends::cas::CasError;
use pinpoint_core::SplitMix64;

use super::fake::{Fake, Settings};
use super::world::Folder;

/// The number of seeds; `PINPOINT_ATTACKS` overrides it.
fn seeds() -> u64 {
    let named = std::env::var("PINPOINT_ATTACKS").ok();
    named.map_or(30, |count| {
        count.parse().expect("PINPOINT_ATTACKS is a number")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_is_right_whatever_fails() {
    let mut missing = 0;
    for seed in 0..seeds() {
        let mut random = SplitMix64::new(seed);
        let settings = Settings {
            has_zstd: random.below(2) == 0,
            batch: [0, 5_000, 150_000][random.below(3) as usize],
            page: [0, 1, 3, 100][random.below(4) as usize],
            one_fails_of: 2 + random.below(3),
            seed,
            ..Settings::default()
        };
        let fake = Fake::start(settings).await;
        let folder = Folder::random(&mut random, 2);
        let mut all = Vec::new();
        let root = folder.store(&mut |content| {
            let digest = fake.add(content);
            all.push(digest);
            digest
        });
        let lacks = (random.below(5) == 0).then(|| all[random.below(all.len() as u64) as usize]);
        // An empty file may be missing.
        let lacks = lacks.filter(|digest| digest.size() > 0);
        if let Some(digest) = &lacks {
            fake.remove(digest);
        }
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("tree");
        match (fake.client().download(&root, &target).await, lacks) {
            (Ok(tree), None) => {
                assert_eq!(tree, folder.tree(), "seed {seed}");
                folder.assert_at(&target);
            }
            (Err(CasError::Missing(found)), Some(digest)) => {
                assert_eq!(found, digest, "seed {seed}");
                assert!(!target.exists());
                missing += 1;
            }
            (result, lacks) => panic!("seed {seed}: {result:?}, without {lacks:?}"),
        }
        let most = fake
            .most_under_way
            .load(std::sync::atomic::Ordering::SeqCst);
        assert!(most <= 8, "seed {seed}: {most} requests at once");
    }
    assert!(missing > 0 || seeds() < 30);
}
