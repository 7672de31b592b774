//! Requests of the API, in JSON and in protobuf.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pinpoint_core::api::{
    self, CancelJobRequest, FlatCommit, LegacyJobRequest, QueryBisectRequest, QueryPairwiseRequest,
    ScheduleBisectRequest, ScheduleCulpritFinderRequest, SchedulePairwiseRequest, Timestamp,
    ValidBisection, ValidCulpritFinder, ValidPairwise,
};
use pinpoint_core::bots::Bots;
use prost::Message;
use serde::de::DeserializeOwned;

/// Reads a message in both forms; what was read comes back the same.
fn read<M: Message + Default + DeserializeOwned + PartialEq>(bytes: &[u8]) -> Vec<M> {
    let mut read = Vec::new();
    if let Ok(message) = M::decode(bytes) {
        let again = M::decode(&*message.encode_to_vec()).expect("what was written can be read");
        assert_eq!(again.encode_to_vec(), message.encode_to_vec());
        read.push(message);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        read.extend(api::from_json(text));
    }
    read
}

fuzz_target!(|bytes: &[u8]| {
    let bots = Bots::builtin();
    for request in read::<ScheduleBisectRequest>(bytes) {
        if let Ok(valid) = ValidBisection::read(&request, bots)
            && let Ok(written) = valid.write(bots)
        {
            assert_eq!(ValidBisection::read(&written, bots).as_ref(), Ok(&valid));
        }
    }
    for request in read::<ScheduleCulpritFinderRequest>(bytes) {
        if let Ok(valid) = ValidCulpritFinder::read(&request, bots)
            && let Ok(written) = valid.write(bots)
        {
            assert_eq!(ValidCulpritFinder::read(&written, bots).as_ref(), Ok(&valid));
        }
    }
    for request in read::<SchedulePairwiseRequest>(bytes) {
        if let Ok(valid) = ValidPairwise::read(&request, bots)
            && let Ok(written) = valid.write()
        {
            assert_eq!(ValidPairwise::read(&written, bots).as_ref(), Ok(&valid));
        }
    }
    read::<QueryBisectRequest>(bytes);
    read::<QueryPairwiseRequest>(bytes);
    read::<LegacyJobRequest>(bytes);
    read::<CancelJobRequest>(bytes);
    for commit in read::<api::CombinedCommit>(bytes) {
        let _ = FlatCommit::read(&commit);
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = api::job_id(text);
        let _ = text.parse::<Timestamp>();
    }
});
