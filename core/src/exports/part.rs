//! Writes one part: straight into a file in the incoming folder.

use futures_util::StreamExt;

use super::ExportError;
use super::csv::Tables;
use super::section::{FileEntry, Unit};
use crate::archive::{Modified, ZipWriter};
use crate::domain::Timestamp;
use crate::files::{FileKey, Files, FilesError, Incoming, Received};

/// No part may be larger. The largest task leaves room.
const MAX_BYTES: u64 = 1 << 30;

pub struct PartWriter<'a> {
    files: &'a Files,
    incoming: Incoming,
    zip: ZipWriter,
    missing: Vec<String>,
}

impl<'a> PartWriter<'a> {
    pub async fn begin(files: &'a Files, now: Timestamp) -> Result<Self, ExportError> {
        Ok(Self {
            incoming: files.receive(MAX_BYTES, now).await?,
            zip: ZipWriter::new(Modified::at(now)),
            missing: Vec::new(),
            files,
        })
    }

    pub fn written(&self) -> u64 {
        self.zip.written()
    }

    pub async fn entry(&mut self, name: &str, data: &[u8]) -> Result<(), ExportError> {
        let bytes = self.zip.entry(name, data)?;
        Ok(self.incoming.write(&bytes).await?)
    }

    pub async fn unit(&mut self, unit: Unit, tables: &mut Tables) -> Result<(), ExportError> {
        for (name, text) in &unit.entries {
            self.entry(name, text).await?;
        }
        for file in &unit.files {
            self.copy(file).await?;
        }
        unit.rows.iter().for_each(|row| tables.add(row));
        Ok(())
    }

    /// Copies a stored file a chunk at a time. A file that is gone is listed at the end.
    async fn copy(&mut self, file: &FileEntry) -> Result<(), ExportError> {
        let Some(mut chunks) = self.open(&file.key).await? else {
            self.missing.push(file.name.clone());
            return Ok(());
        };
        let header = self.zip.begin(&file.name)?;
        self.incoming.write(&header).await?;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(FilesError::from)?;
            self.zip.data(&chunk);
            self.incoming.write(&chunk).await?;
        }
        let end = self.zip.end()?;
        Ok(self.incoming.write(&end).await?)
    }

    async fn open(&self, key: &str) -> Result<Option<crate::files::FileStream>, ExportError> {
        let Some(key) = FileKey::parse(key) else {
            return Ok(None);
        };
        let Some(size) = self.files.size(key).await? else {
            return Ok(None);
        };
        match self.files.read(key, 0..size).await {
            Ok(chunks) => Ok(Some(chunks)),
            Err(FilesError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn finish(mut self, number: i64) -> Result<Received, ExportError> {
        if !self.missing.is_empty() {
            let text = self.missing.join("\n");
            let name = format!("missing-files-{number}.txt");
            self.entry(&name, text.as_bytes()).await?;
        }
        let end = self.zip.finish()?;
        self.incoming.write(&end).await?;
        Ok(self.incoming.finish().await?)
    }
}
