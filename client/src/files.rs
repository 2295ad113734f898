//! Files: proofs that come down, test proofs that go up.

use reqwest::Method;
use serde_json::Value;

use crate::http::Call;
use crate::operations::{Proofs, TestHelpers};
use crate::{Client, Error, Proof, ProofType, Result, SubmittedProofs, ambient};

/// A test proof with files of your own.
#[derive(Debug, Clone, Default)]
pub struct Upload {
    pub gps_latitude: Option<f64>,
    pub gps_longitude: Option<f64>,
    pub files: Vec<File>,
}

#[derive(Debug, Clone)]
pub struct File {
    pub proof_type: ProofType,
    pub content_type: String,
    pub bytes: Vec<u8>,
}

impl Proofs {
    /// The file of a proof. Its `file_url` works for an hour: list the proofs anew for another.
    pub async fn download(&self, proof: &Proof) -> Result<Vec<u8>> {
        match &proof.file_url {
            Some(url) => self.0.fetch(url).await,
            None => Err(Error::Setup(
                "the file of this proof is no longer kept".to_owned(),
            )),
        }
    }
}

impl Client {
    /// Sends files to a path that takes them, as a worker does.
    pub async fn upload(&self, path: &str, upload: &Upload) -> Result<Value> {
        self.json(form_call(path, &[], upload)?).await
    }
}

fn form_call(path: &str, ids: &[&str], upload: &Upload) -> Result<Call> {
    let boundary = ambient::random_name()?;
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let call = Call::new(Method::POST, path, ids);
    Ok(call.raw_body(content_type, form(upload, &boundary)))
}

impl TestHelpers {
    /// Sends your own files as the simulated worker.
    pub async fn upload_proof(&self, task_id: &str, upload: &Upload) -> Result<SubmittedProofs> {
        let path = "/v1/test_helpers/tasks/{id}/proofs";
        self.0.json(form_call(path, &[task_id], upload)?).await
    }
}

fn form(upload: &Upload, boundary: &str) -> Vec<u8> {
    let mut form = Vec::new();
    let mut part = |disposition: String, content: &[u8]| {
        form.extend_from_slice(
            format!("--{boundary}\r\nContent-Disposition: form-data; ").as_bytes(),
        );
        form.extend_from_slice(format!("{disposition}\r\n\r\n").as_bytes());
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n");
    };
    let position = [
        ("gps_latitude", upload.gps_latitude),
        ("gps_longitude", upload.gps_longitude),
    ];
    for (name, value) in position {
        if let Some(value) = value {
            part(format!("name=\"{name}\""), value.to_string().as_bytes());
        }
    }
    for File {
        proof_type,
        content_type,
        bytes,
    } in &upload.files
    {
        let names = format!("name=\"{proof_type}\"; filename=\"{proof_type}\"");
        part(format!("{names}\r\nContent-Type: {content_type}"), bytes);
    }
    form.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    form
}
