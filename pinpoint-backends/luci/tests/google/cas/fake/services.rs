//! The methods of the store.

use std::pin::Pin;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use pinpoint_backends::cas::Digest;
use tonic::{Code, Request, Response, Status};

use super::super::messages::batch_read_blobs_response::Response as Answer;
use super::super::messages::capabilities_server::Capabilities;
use super::super::messages::content_addressable_storage_server::ContentAddressableStorage;
use super::super::messages::google::bytestream::byte_stream_server::ByteStream;
use super::super::messages::google::bytestream::{ReadRequest, ReadResponse};
use super::super::messages::google::rpc;
use super::super::messages::{
    BatchReadBlobsRequest, BatchReadBlobsResponse, CacheCapabilities, GetCapabilitiesRequest,
    GetTreeRequest, GetTreeResponse, ServerCapabilities, compressor, digest_function,
};
use super::{Fake, Fault, INSTANCE};

fn bend(content: &Bytes) -> Bytes {
    let mut bent = content.to_vec();
    match bent.len() / 2 {
        0 => bent.push(1),
        middle => bent[middle] ^= 1,
    }
    bent.into()
}

async fn silence<T>(fault: &Fault) -> Result<(), T> {
    match fault {
        Fault::Silent => std::future::pending().await,
        _ => Ok(()),
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The messages, cut where the fault says.
fn cut<T: Send + 'static>(mut messages: Vec<T>, fault: &Fault) -> Answers<T> {
    let mut end = None;
    if let Fault::Cut(part, code) = fault {
        messages.truncate((messages.len() as f64 * part) as usize);
        end = code.map(|code| Err(Status::new(code, "cut")));
    }
    Box::pin(stream::iter(messages.into_iter().map(Ok)).chain(stream::iter(end)))
}

#[tonic::async_trait]
impl Capabilities for Fake {
    async fn get_capabilities(
        &self,
        request: Request<GetCapabilitiesRequest>,
    ) -> Result<Response<ServerCapabilities>, Status> {
        let (fault, _busy) = self.begin("GetCapabilities".into(), &request)?;
        self.check_instance(&request.get_ref().instance_name)?;
        silence::<Status>(&fault).await?;
        if let Fault::Status(code) | Fault::Cut(_, Some(code)) = fault {
            return Err(Status::new(code, "later"));
        }
        Ok(Response::new(ServerCapabilities {
            cache_capabilities: Some(CacheCapabilities {
                digest_functions: vec![2, digest_function::Value::Sha256 as i32],
                max_batch_total_size_bytes: self.settings.batch,
                supported_compressors: match self.settings.has_zstd {
                    true => vec![2, compressor::Value::Zstd as i32],
                    false => vec![2],
                },
            }),
        }))
    }
}

#[tonic::async_trait]
impl ContentAddressableStorage for Fake {
    async fn batch_read_blobs(
        &self,
        request: Request<BatchReadBlobsRequest>,
    ) -> Result<Response<BatchReadBlobsResponse>, Status> {
        let digests = &request.get_ref().digests;
        let what = format!("BatchReadBlobs {}", digests.len());
        let (fault, _busy) = self.begin(what, &request)?;
        self.check_instance(&request.get_ref().instance_name)?;
        silence::<Status>(&fault).await?;
        if let Fault::Status(code) | Fault::Cut(_, Some(code)) = fault {
            return Err(Status::new(code, "later"));
        }
        let zstd = compressor::Value::Zstd as i32;
        let wants_zstd = request.get_ref().acceptable_compressors == [zstd];
        if wants_zstd && !self.settings.has_zstd {
            return Err(Status::invalid_argument("zstd is not offered"));
        }
        let mut total = 0;
        let mut responses = Vec::new();
        for (index, message) in digests.iter().enumerate() {
            let digest = self.check(Some(message))?;
            total += digest.size() as i64;
            let mut answer = Answer {
                digest: Some(message.clone()),
                ..Answer::default()
            };
            match self.find(&digest) {
                None => {
                    answer.status = Some(rpc::Status {
                        code: Code::NotFound as i32,
                        message: "not here".into(),
                        details: Vec::new(),
                    });
                }
                Some(content) => {
                    answer.data = match fault {
                        Fault::Bent if index == 0 => bend(&content),
                        Fault::Long if index == 0 => [&content[..], b"x"].concat().into(),
                        _ => content,
                    };
                    // Every second one, as a store may.
                    if wants_zstd && digest.size().is_multiple_of(2) {
                        answer.data = zstd::bulk::compress(&answer.data, 3).unwrap().into();
                        answer.compressor = zstd;
                    }
                }
            }
            responses.push(answer);
        }
        if self.settings.batch > 0 && total > self.settings.batch {
            return Err(Status::invalid_argument("more than a batch holds"));
        }
        match fault {
            Fault::Left => {
                responses.pop();
            }
            Fault::Cut(..) => {
                let later = Some(rpc::Status {
                    code: Code::Unavailable as i32,
                    ..rpc::Status::default()
                });
                responses[0] = Answer {
                    digest: responses[0].digest.clone(),
                    status: later,
                    ..Answer::default()
                };
            }
            _ => {}
        }
        // In no order, and one of them twice.
        responses.reverse();
        responses.extend(responses.first().cloned());
        Ok(Response::new(BatchReadBlobsResponse { responses }))
    }

    type GetTreeStream = Answers<GetTreeResponse>;

    async fn get_tree(
        &self,
        request: Request<GetTreeRequest>,
    ) -> Result<Response<Self::GetTreeStream>, Status> {
        let what = format!("GetTree {}", request.get_ref().page_token);
        let (fault, _busy) = self.begin(what, &request)?;
        self.check_instance(&request.get_ref().instance_name)?;
        silence::<Status>(&fault).await?;
        if self.settings.page == 0 {
            return Err(Status::unimplemented("no trees"));
        }
        if let Fault::Status(code) = fault {
            return Err(Status::new(code, "later"));
        }
        let root = self.check(request.get_ref().root_digest.as_ref())?;
        if self.find(&root).is_none() {
            return Err(Status::not_found("no such tree"));
        }
        let skip: usize = match request.get_ref().page_token.as_str() {
            "" => 0,
            page => page.strip_prefix("from ").unwrap().parse().unwrap(),
        };
        let mut all = self.directories(root);
        assert!(skip <= all.len());
        all.drain(..skip);
        match fault {
            Fault::Left => {
                all.pop();
            }
            Fault::Bent => {
                all[0] = bend(&all[0]);
            }
            Fault::Long => all.push(Bytes::from_static(b"nobody's")),
            _ => {}
        }
        let pages = all.chunks(self.settings.page);
        let count = pages.len();
        // Two pages in a stream, then another is to be asked for.
        let messages = pages.enumerate().take(2).map(|(index, page)| {
            let next = skip + index * self.settings.page + page.len();
            GetTreeResponse {
                directories: page.to_vec(),
                next_page_token: match index + 1 == count {
                    true => String::new(),
                    false => format!("from {next}"),
                },
            }
        });
        Ok(Response::new(cut(messages.collect(), &fault)))
    }
}

#[tonic::async_trait]
impl ByteStream for Fake {
    type ReadStream = Answers<ReadResponse>;

    async fn read(
        &self,
        request: Request<ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let ReadRequest {
            resource_name,
            read_offset,
            read_limit,
        } = request.get_ref();
        let what = format!("Read {resource_name} from {read_offset}");
        let (fault, _busy) = self.begin(what, &request)?;
        silence::<Status>(&fault).await?;
        while self.most_under_way.load(Ordering::SeqCst) < self.settings.hold {
            tokio::task::yield_now().await;
        }
        if let Fault::Status(code) = fault {
            return Err(Status::new(code, "later"));
        }
        let name = resource_name.strip_prefix(INSTANCE);
        let (is_compressed, digest) = match name {
            Some(name) if self.settings.has_zstd && name.starts_with("/compressed-blobs/zstd/") => {
                (true, name.strip_prefix("/compressed-blobs/zstd/").unwrap())
            }
            Some(name) if name.starts_with("/blobs/") => {
                (false, name.strip_prefix("/blobs/").unwrap())
            }
            _ => return Err(Status::invalid_argument(resource_name)),
        };
        let digest: Digest = digest
            .parse()
            .map_err(|_| Status::invalid_argument(resource_name))?;
        let offset = *read_offset as usize;
        if *read_limit != 0 || offset as u64 > digest.size() {
            return Err(Status::out_of_range(format!("{request:?}")));
        }
        let content = self
            .find(&digest)
            .ok_or_else(|| Status::not_found("not here"))?
            .slice(offset..);
        let content = match fault {
            Fault::Bent => bend(&content),
            Fault::Long => [&content[..], b"x"].concat().into(),
            _ => content,
        };
        let mut data = match is_compressed {
            true => zstd::bulk::compress(&content, 3).unwrap().into(),
            false => content,
        };
        if fault == Fault::Left {
            data.truncate(data.len() / 2);
        }
        // An empty message says that there is more to come.
        let mut messages = vec![ReadResponse { data: Bytes::new() }];
        while !data.is_empty() {
            let part = data.split_to(data.len().min(300_000));
            messages.push(ReadResponse { data: part });
        }
        Ok(Response::new(cut(messages, &fault)))
    }
}
