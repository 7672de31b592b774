//! Small files, many in one request.

use std::collections::BTreeSet;

use bytes::Bytes;
use tonic::{Code, Status};

use super::error::TransferError;
use super::proto::batch_read_blobs_response::Response;
use super::proto::{BatchReadBlobsRequest, compressor};
use super::tries::Fault;
use super::{Cas, CasError, Digest, receiver};

/// The largest request: as much as a message of gRPC holds by default.
pub(super) const MAX_BATCH_BYTES: u64 = 4 << 20;

/// A larger file gets its own stream.
pub(super) const LARGEST: u64 = 1 << 20;

/// The most bytes in a message for a file in addition to its content: the digest, a status and
/// their tags.
const BESIDE: u64 = 160;

/// Files by their read method.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    /// Each in one request.
    pub(super) batches: Vec<Vec<Digest>>,
    /// Each a stream.
    pub(super) streams: Vec<Digest>,
}

impl Plan {
    /// Fills batches of at most `limit` bytes in the order of the digests.
    pub(super) fn new(digests: impl IntoIterator<Item = Digest>, limit: u64) -> Self {
        let limit = limit.min(MAX_BATCH_BYTES);
        let mut plan = Self {
            batches: Vec::new(),
            streams: Vec::new(),
        };
        let mut left = 0;
        for digest in digests {
            let cost = digest.size() + BESIDE;
            if digest.size() > LARGEST || cost > limit {
                plan.streams.push(digest);
                continue;
            }
            match plan.batches.last_mut() {
                Some(batch) if cost <= left => {
                    left -= cost;
                    batch.push(digest);
                }
                _ => {
                    left = limit - cost;
                    plan.batches.push(vec![digest]);
                }
            }
        }
        plan
    }
}

impl Cas {
    /// Reads small files that fit into one batch, in any order. Repeated digests are read once.
    pub(super) async fn batch(
        &self,
        digests: Vec<Digest>,
    ) -> Result<Vec<(Digest, Bytes)>, CasError> {
        let mut wanted: BTreeSet<Digest> = digests.into_iter().collect();
        let mut read = Vec::with_capacity(wanted.len());
        // A store need not keep an empty file.
        let empty = Digest::of(b"");
        if wanted.remove(&empty) {
            read.push((empty, Bytes::new()));
        }
        let may_be_compressed = match wanted.is_empty() {
            true => return Ok(read),
            false => self.capabilities().await?.has_zstd,
        };
        let mut batch = Batch {
            wanted,
            read,
            may_be_compressed,
        };
        let mut tries = self.connection().tries("BatchReadBlobs");
        loop {
            let before = batch.wanted.len();
            let fault = match self.batch_once(&mut batch).await {
                Ok(()) => return Ok(batch.read),
                Err(fault) => fault,
            };
            if batch.wanted.len() < before {
                tries.progressed();
            }
            tries.after(fault).await?;
        }
    }

    async fn batch_once(&self, batch: &mut Batch) -> Result<(), Fault> {
        let zstd = compressor::Value::Zstd as i32;
        let request = BatchReadBlobsRequest {
            instance_name: self.instance().into(),
            digests: batch.wanted.iter().map(Digest::message).collect(),
            acceptable_compressors: batch
                .may_be_compressed
                .then_some(zstd)
                .into_iter()
                .collect(),
        };
        let (call, request) = self.connection().call(request).await?;
        let mut client = self.connection().storage();
        let answer = call.answer(client.batch_read_blobs(request)).await?;
        batch.take(answer.responses)
    }
}

struct Batch {
    wanted: BTreeSet<Digest>,
    read: Vec<(Digest, Bytes)>,
    may_be_compressed: bool,
}

impl Batch {
    /// Takes the sound responses; the first that is not sound is the fault.
    fn take(&mut self, responses: Vec<Response>) -> Result<(), Fault> {
        let mut fault = None;
        for response in responses {
            let digest = Digest::of_message(response.digest.as_ref());
            // An unrequested file does not count.
            let Some(digest) = digest.filter(|digest| self.wanted.contains(digest)) else {
                continue;
            };
            match content(digest, response) {
                Ok(content) => {
                    self.wanted.remove(&digest);
                    self.read.push((digest, content));
                }
                Err(found) => {
                    if matches!(found, Fault::Passing(TransferError::Compressed { .. }, _)) {
                        self.may_be_compressed = false;
                    }
                    // A lasting fault decides, whatever else may pass.
                    if !matches!(found, Fault::Passing(..)) || fault.is_none() {
                        fault = Some(found);
                    }
                }
            }
        }
        match (fault, self.wanted.first()) {
            (Some(fault), _) => Err(fault),
            (None, Some(digest)) => Err(TransferError::Unanswered(*digest).into()),
            (None, None) => Ok(()),
        }
    }
}

fn content(digest: Digest, response: Response) -> Result<Bytes, Fault> {
    let status = response.status.unwrap_or_default();
    match Code::from(status.code) {
        Code::Ok => {}
        Code::NotFound => return Err(Fault::Final(CasError::Missing(digest))),
        code => return Err(Fault::from_status(&Status::new(code, status.message))),
    }
    let is_compressed = match compressor::Value::try_from(response.compressor) {
        Ok(compressor::Value::Identity) => false,
        Ok(compressor::Value::Zstd) => true,
        _ => {
            let message = format!("{digest} is compressed in a way that was not asked for");
            return Err(Fault::Lasting(TransferError::Status {
                code: crate::google::Code::UNIMPLEMENTED,
                message,
            }));
        }
    };
    Ok(receiver::whole(digest, is_compressed, response.data)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_plan_holds_each_file_once_and_keeps_the_limit(
            sizes in proptest::collection::vec(0_u64..3 << 20, 0..200), limit in 0_u64..8 << 20,
        ) {
            let digests: Vec<Digest> = sizes.iter().enumerate().map(|(index, size)| {
                Digest::new([index as u8; 32], *size)
            }).collect();
            let plan = Plan::new(digests.clone(), limit);
            for batch in &plan.batches {
                let cost: u64 = batch.iter().map(|digest| digest.size() + BESIDE).sum();
                prop_assert!(!batch.is_empty() && cost <= limit.min(MAX_BATCH_BYTES));
            }
            for pair in plan.batches.windows(2) {
                let cost: u64 = pair.concat().iter().map(|digest| digest.size() + BESIDE).sum();
                prop_assert!(cost > limit.min(MAX_BATCH_BYTES) || pair[1].is_empty() || pair[0].is_empty()
                    || pair[0].iter().map(|digest| digest.size() + BESIDE).sum::<u64>()
                        + pair[1][0].size() + BESIDE > limit.min(MAX_BATCH_BYTES));
            }
            let mut all: Vec<Digest> = plan.batches.concat();
            all.extend(&plan.streams);
            all.sort();
            let mut expected = digests;
            expected.sort();
            prop_assert_eq!(all, expected);
        }
    }
}
