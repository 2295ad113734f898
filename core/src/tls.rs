//! TLS: trusted authorities for clients, and the cryptography for both sides.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// The system's authorities, of which there may be none, and those of a PEM file. An error names
/// the file.
pub fn authorities(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = file {
        add(&mut roots, file).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(roots)
}

fn add(roots: &mut RootCertStore, file: &Path) -> Result<(), String> {
    let mut found = false;
    for certificate in CertificateDer::pem_file_iter(file).map_err(|e| e.to_string())? {
        let certificate = certificate.map_err(|e| e.to_string())?;
        roots.add(certificate).map_err(|e| e.to_string())?;
        found = true;
    }
    if found {
        Ok(())
    } else {
        Err("it contains no certificate".to_owned())
    }
}

/// Uses its own crypto provider: the process has no default one.
pub fn client(roots: RootCertStore) -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

/// Like `client`, but also accepts a server certificate that is in the file itself. A typical
/// self-signed certificate claims to be an authority, which verifiers refuse from a server,
/// although the operator clearly trusts it.
pub fn client_trusting(file: &Path) -> Result<ClientConfig, String> {
    let roots = Arc::new(authorities(Some(file))?);
    let named = CertificateDer::pem_file_iter(file).map_err(|e| e.to_string())?;
    let verifier = Verifier {
        usual: WebPkiServerVerifier::builder_with_provider(roots, provider())
            .build()
            .map_err(|e| e.to_string())?,
        named: named.filter_map(Result::ok).collect(),
    };
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(config)
}

pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let usual = self
            .usual
            .verify_server_cert(certificate, chain, name, ocsp, now);
        let own_authority = matches!(&usual, Err(rustls::Error::InvalidCertificate(
            CertificateError::Other(_))) if self.named.contains(certificate));
        if !own_authority {
            return usual;
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> String {
        let made = rcgen::generate_simple_self_signed(["ca.example".to_owned()]).unwrap();
        made.cert.pem()
    }

    fn trusted_beyond_the_system(text: &str) -> Result<usize, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let name = file.path().display().to_string();
        let system = authorities(None).unwrap().len();
        match authorities(Some(file.path())) {
            Ok(all) => Ok(all.len() - system),
            Err(error) => {
                let reason = error.strip_prefix(&format!("{name}: "));
                Err(reason.expect("an error that names the file").to_owned())
            }
        }
    }

    #[test]
    fn every_authority_of_a_file_is_trusted() {
        let two = certificate() + &certificate();
        assert_eq!(trusted_beyond_the_system(&two), Ok(2));
    }

    #[test]
    fn a_file_that_would_change_nothing_is_an_error() {
        let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
        let empty = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
        let cut = certificate().replace("-----END CERTIFICATE-----", "");
        let noise = "-----BEGIN CERTIFICATE-----\n???\n-----END CERTIFICATE-----\n";
        for text in ["", "no PEM at all", &key, empty, &cut, noise] {
            let error = trusted_beyond_the_system(text).expect_err(text);
            assert!(!error.is_empty(), "{text}");
        }
        let missing = Path::new("/nowhere/ca.pem");
        let error = authorities(Some(missing)).unwrap_err();
        assert!(error.starts_with("/nowhere/ca.pem: "), "{error}");
    }
}
