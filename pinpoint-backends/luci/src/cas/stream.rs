//! Large files, each a stream that continues where it was cut.

use std::io;
use std::path::Path;

use bytes::Bytes;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use super::error::TransferError;
use super::proto::ReadRequest;
use super::receiver::Receiver;
use super::tries::Fault;
use super::{Cas, CasError, Digest};
use crate::google::Code;

/// The destination of a stream.
pub(super) enum Sink<'a> {
    Memory(Vec<u8>),
    File(tokio::fs::File, &'a Path),
}

impl Sink<'_> {
    async fn append(&mut self, part: &Bytes) -> Result<(), CasError> {
        match self {
            Self::Memory(content) => {
                content.extend_from_slice(part);
                Ok(())
            }
            Self::File(file, path) => file.write_all(part).await.map_err(written(path)),
        }
    }

    /// Drops everything.
    async fn restart(&mut self) -> Result<(), CasError> {
        match self {
            Self::Memory(content) => content.clear(),
            Self::File(file, path) => {
                file.rewind().await.map_err(written(path))?;
                file.set_len(0).await.map_err(written(path))?;
            }
        }
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), CasError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::File(file, path) => file.flush().await.map_err(written(path)),
        }
    }
}

/// The error of a file that cannot be written.
pub(super) fn written(path: &Path) -> impl FnOnce(io::Error) -> CasError {
    let path = path.to_path_buf();
    |source| CasError::File { path, source }
}

impl Cas {
    /// Reads a file of any size, part by part.
    pub(super) async fn stream(
        &self,
        digest: &Digest,
        sink: &mut Sink<'_>,
    ) -> Result<(), CasError> {
        let mut is_compressed = self.capabilities().await?.has_zstd;
        let mut was_damaged = false;
        let mut tries = self.connection().tries("Read");
        let mut receiver = Receiver::new(*digest);
        loop {
            let before = receiver.offset();
            let mut end = self.stream_once(is_compressed, &mut receiver, sink).await;
            if end.is_ok() {
                end = receiver.check().map_err(Fault::from);
            }
            let Err(fault) = end else {
                return sink.finish().await;
            };
            if let Fault::Passing(
                TransferError::Compressed { .. } | TransferError::OtherContent { .. },
                _,
            ) = fault
            {
                is_compressed = false;
                was_damaged = true;
                receiver = Receiver::new(*digest);
                sink.restart().await?;
            } else if receiver.offset() > before && !was_damaged {
                tries.progressed();
            }
            tries.after(fault).await?;
        }
    }

    /// Reads from the receiver's offset to the end.
    async fn stream_once(
        &self,
        is_compressed: bool,
        receiver: &mut Receiver,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let digest = receiver.digest();
        if receiver.is_complete() {
            return Ok(());
        }
        let kind = if is_compressed {
            "compressed-blobs/zstd"
        } else {
            "blobs"
        };
        let instance = self.instance();
        let separator = if instance.is_empty() { "" } else { "/" };
        let request = ReadRequest {
            resource_name: format!("{instance}{separator}{kind}/{digest}"),
            read_offset: receiver.offset() as i64,
            read_limit: 0,
        };
        receiver.begin(is_compressed)?;
        let (call, request) = self.connection().call(request).await?;
        let mut client = self.connection().bytes();
        let missing = |fault| match fault {
            Fault::Lasting(TransferError::Status {
                code: Code::NOT_FOUND,
                ..
            }) => Fault::Final(CasError::Missing(digest)),
            fault => fault,
        };
        let answer = call.answer(client.read(request)).await;
        let mut stream = answer.map_err(missing)?;
        while let Some(message) = call.next(&mut stream).await.map_err(missing)? {
            let mut data = message.data;
            while let Some(part) = receiver.part(&mut data)? {
                sink.append(&part).await.map_err(Fault::Final)?;
            }
        }
        if receiver.is_complete() {
            Ok(())
        } else {
            Err(TransferError::Unanswered(digest).into())
        }
    }
}
