//! The SDK of the Remote Execution API, in Go, reads from the store that our client is tested
//! against.

use pinpoint_core::SplitMix64;

use super::fake::{Fake, INSTANCE, Settings};
use super::world::Folder;
use crate::programs::printed;

/// The SDK makes links, and our client does not.
fn without_links(mut folder: Folder) -> Folder {
    folder.links.clear();
    let folders = std::mem::take(&mut folder.folders).into_iter();
    folder.folders = folders
        .map(|(name, inner)| (name, without_links(inner)))
        .collect();
    folder
}

#[tokio::test]
#[ignore = "needs the programs in Go: the test says how to build them"]
async fn the_sdk_reads_what_our_client_reads() {
    let settings = Settings {
        // Without a limit, the SDK reads no batches.
        batch: 4 << 20,
        ..Settings::default()
    };
    let fake = Fake::start(settings).await;
    let mut folder = without_links(Folder::random(&mut SplitMix64::new(3), 3));
    for index in 0..20 {
        folder = folder.with(&format!("small/{index}"), index.to_string());
    }
    // Longer than a message, and than any batch.
    let long: Vec<u8> = (0..6_000_000_u32)
        .map(|index| (index % 251) as u8)
        .collect();
    folder.files.insert("long".into(), (long.into(), true));
    let root = folder.store(&mut |content| fake.add(content));
    let place = tempfile::tempdir().unwrap();
    let target = place.path().to_str().unwrap();
    let address = fake.address.to_string();
    let read = ["cas", &address, INSTANCE, &root.to_string(), target];
    let counted = printed("luci", &read).await;
    let files = folder.tree().files.len();
    // Plain, and compressed.
    assert_eq!(counted[0]["files"], 2 * files);
    for name in ["plain", "compressed"] {
        folder.assert_at(&place.path().join(name));
    }
    for method in ["GetTree", "BatchReadBlobs", "Read "] {
        assert!(fake.count(method) > 0, "{method}");
    }
    let ours = fake.client().tree(&root).await.unwrap();
    assert_eq!(ours, folder.tree());
}
