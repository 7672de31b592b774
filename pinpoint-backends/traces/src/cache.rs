//! The memory of a process for the catalog, within a limit.
//!
//! Numbers of traces, keys and values are given once, so what is remembered of them stays true:
//! only what has been added since is read.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::column::Column;

/// The most bytes that are remembered.
const MOST_BYTES: usize = 96 << 20;

/// Whose column or values are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Column {
        dataset: i64,
        key: i64,
        segment: u32,
    },
    Values {
        dataset: i64,
        key: i64,
    },
}

/// The first values of a key.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownValues {
    pub(super) texts: Arc<Vec<Box<str>>>,
    /// The number of traces of the dataset when they were read: a new value has a new trace.
    pub(super) traces: u32,
    bytes: usize,
}

#[derive(Debug, Clone)]
enum Remembered {
    /// With the number of traces of the dataset when it was read.
    Column(Arc<Column>, u32),
    Values(KnownValues),
}

impl Remembered {
    fn bytes(&self) -> usize {
        match self {
            Self::Column(column, _) => column.bytes(),
            Self::Values(values) => values.bytes,
        }
    }
}

#[derive(Debug)]
pub(super) struct Cache(Mutex<(LruCache<Of, Remembered>, usize)>);

impl Default for Cache {
    fn default() -> Self {
        let most = const { NonZeroUsize::new(1 << 16).expect("not zero") };
        Self(Mutex::new((LruCache::new(most), 0)))
    }
}

impl Cache {
    fn get(&self, of: Of) -> Option<Remembered> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0.get(&of).cloned()
    }

    fn put(&self, of: Of, remembered: Remembered) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (entries, bytes) = &mut *inner;
        *bytes += remembered.bytes();
        if let Some((_, old)) = entries.push(of, remembered) {
            *bytes -= old.bytes();
        }
        while *bytes > MOST_BYTES {
            let Some((_, old)) = entries.pop_lru() else {
                break;
            };
            *bytes -= old.bytes();
        }
    }

    /// The column of a segment, with the number of traces of which it told.
    pub(super) fn column(
        &self,
        dataset: i64,
        key: i64,
        segment: u32,
    ) -> Option<(Arc<Column>, u32)> {
        let of = Of::Column {
            dataset,
            key,
            segment,
        };
        match self.get(of)? {
            Remembered::Column(column, traces) => Some((column, traces)),
            Remembered::Values(..) => None,
        }
    }

    pub(super) fn put_column(
        &self,
        (dataset, key, segment): (i64, i64, u32),
        column: Arc<Column>,
        traces: u32,
    ) {
        let of = Of::Column {
            dataset,
            key,
            segment,
        };
        self.put(of, Remembered::Column(column, traces));
    }

    pub(super) fn values(&self, dataset: i64, key: i64) -> KnownValues {
        match self.get(Of::Values { dataset, key }) {
            Some(Remembered::Values(values)) => values,
            _ => KnownValues::default(),
        }
    }

    pub(super) fn put_values(
        &self,
        (dataset, key): (i64, i64),
        texts: Arc<Vec<Box<str>>>,
        traces: u32,
    ) {
        let bytes = texts.iter().map(|it| it.len() + 32).sum();
        let values = KnownValues {
            texts,
            traces,
            bytes,
        };
        self.put(Of::Values { dataset, key }, Remembered::Values(values));
    }
}
