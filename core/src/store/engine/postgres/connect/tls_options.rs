//! The TLS parameters of a database URL.

use std::path::Path;

use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::engine::StoreError;
use crate::tls;

#[derive(Default, Debug, PartialEq)]
pub struct TlsOptions {
    pub encrypt: bool,
    pub ca_file: Option<String>,
}

/// Takes the TLS parameters out of the URL; the driver knows only some of them.
pub fn tls_options(url: &str) -> Result<(String, TlsOptions), StoreError> {
    let Some((base, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), TlsOptions::default()));
    };
    let mut options = TlsOptions::default();
    let mut rest = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", "disable" | "allow" | "prefer")) => options.encrypt = false,
            Some(("sslmode", "require" | "verify-ca" | "verify-full")) => options.encrypt = true,
            Some(("sslmode", other)) => {
                // A typing error must not lead to an unencrypted connection.
                let unknown = format!("sslmode={other} is unknown");
                return Err(StoreError::Incompatible(unknown));
            }
            Some(("sslrootcert", file)) => options.ca_file = Some(percent_decoded(file)),
            _ => rest.push(pair),
        }
    }
    let url = if rest.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", rest.join("&"))
    };
    Ok((url, options))
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8_lossy()
        .into_owned()
}

pub fn encryption(ca_file: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let authorities = tls::authorities(ca_file.map(Path::new))
        .map_err(|e| StoreError::Incompatible(format!("sslrootcert {e}")))?;
    let config = tls::client(authorities).map_err(StoreError::Incompatible)?;
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_used_where_the_url_asks_for_it() {
        let options = |url: &str| tls_options(url).unwrap().1.encrypt;
        assert!(!options("postgres://db/legwork"));
        assert!(!options("postgres://db/legwork?sslmode=disable"));
        assert!(!options("postgres://db/legwork?sslmode=prefer"));
        assert!(options("postgres://db/legwork?sslmode=require"));
        assert!(options("postgres://db/legwork?x=y&sslmode=verify-full"));
        assert!(tls_options("postgres://db/legwork?sslmode=verify_full").is_err());
    }

    #[test]
    fn the_other_parameters_stay_in_the_url() {
        let url = "postgres://a,b/legwork?target_session_attrs=read-write";
        let (rest, options) =
            tls_options(&format!("{url}&sslmode=require&sslrootcert=%2Fca.pem")).unwrap();
        assert_eq!(rest, url);
        assert_eq!(options.ca_file.as_deref(), Some("/ca.pem"));
    }
}
