//! E-mail over SMTP.

mod message;
mod server;
mod smtp_url;

use std::sync::Arc;
use std::time::Duration;

use lettre::address::{Address, Envelope};
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use tokio::time::{Instant, timeout, timeout_at};
use url::Host;

pub use message::{Link, Message};

use crate::domain::Secret;
use server::Server;
use smtp_url::SmtpUrl;

/// The limit for sending a mail, including the connection.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// The limit for QUIT. The mail has already been accepted.
const QUIT_LIMIT: Duration = Duration::from_secs(1);

pub struct Mail {
    /// 32 hex digits. They stay the same when the mail is sent again, so that duplicates can be
    /// recognized.
    pub id: String,
    /// The bare address.
    pub to: String,
    pub message: Message,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// Can be retried. In rare cases the server accepted the mail anyway.
    #[error("the mail server is not available: {0}")]
    Unavailable(String),
    /// Permanent: the server refuses this mail, or the address is invalid.
    #[error("the mail was refused: {0}")]
    Refused(String),
}

/// Sends mails to one server, each over its own connection.
#[derive(Clone)]
pub struct Mailer {
    server: Arc<Server>,
    from: Mailbox,
    time_limit: Duration,
}

impl Mailer {
    /// Does not connect yet. `from` is an address with or without a name: `Legwork <a@b.example>`.
    pub fn open(smtp_url: &Secret, from: &str) -> Result<Self, String> {
        let url = SmtpUrl::read(smtp_url.expose())?;
        let from: Mailbox = from
            .parse()
            .map_err(|_| "the sender must be an address such as Legwork <notices@example.com>")?;
        let address: &str = from.email.as_ref();
        if !address.is_ascii() {
            return Err("the sender's address must be ASCII: write its domain as xn--...".into());
        }
        Ok(Self {
            server: Arc::new(Server::at(url, from.email.domain())?),
            from,
            time_limit: TIME_LIMIT,
        })
    }

    /// Overrides the limit of 30 seconds.
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// Connects to the server and signs in. Sends nothing.
    pub async fn check(&self) -> Result<(), MailError> {
        let connecting = timeout(self.time_limit, self.server.connect());
        let mut connection = connecting.await.map_err(|_| too_late())??;
        let _ = timeout(QUIT_LIMIT, connection.abort()).await;
        Ok(())
    }

    pub async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let to = recipient(&mail.to)?;
        let message = self.compose(mail, &to)?;
        let deadline = Instant::now() + self.time_limit;
        let connecting = timeout_at(deadline, self.server.connect());
        let mut connection = connecting.await.map_err(|_| too_late())??;
        let handing_over = timeout_at(deadline, self.hand_over(&mut connection, to, &message));
        let taken = handing_over.await.map_err(|_| too_late())?;
        let _ = timeout(QUIT_LIMIT, connection.abort()).await;
        taken
    }

    fn compose(&self, mail: &Mail, to: &Address) -> Result<Vec<u8>, MailError> {
        let unrendered = |e: askama::Error| MailError::Refused(e.to_string());
        let parts = MultiPart::alternative_plain_html(
            mail.message.text().map_err(unrendered)?,
            mail.message.html().map_err(unrendered)?,
        );
        // Given explicitly: a malformed header could be parsed as several addresses.
        let envelope = Envelope::new(Some(self.from.email.clone()), vec![to.clone()]);
        let message = lettre::Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.clone()))
            .subject(mail.message.subject_line())
            .message_id(Some(format!("<{}@{}>", mail.id, self.from.email.domain())))
            // Asks auto-responders not to reply (RFC 3834).
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .envelope(envelope.map_err(|e| MailError::Refused(e.to_string()))?)
            .multipart(parts)
            .map_err(|e| MailError::Refused(e.to_string()))?;
        Ok(message.formatted())
    }

    /// Step by step, because the meaning of a 5xx depends on the step. If our sender is refused,
    /// the operator has to fix it, and no mail should be lost.
    async fn hand_over(
        &self,
        connection: &mut AsyncSmtpConnection,
        to: Address,
        message: &[u8],
    ) -> Result<(), MailError> {
        let mut parameters = Vec::new();
        let recipient: &str = to.as_ref();
        if !recipient.is_ascii() {
            let server = connection.server_info();
            if !server.supports_feature(Extension::SmtpUtfEight) {
                let reason = "the mail server supports only ASCII addresses";
                return Err(MailError::Refused(reason.to_owned()));
            }
            // A non-ASCII address appears in the headers, so the mail is not ASCII.
            let eight_bits = MailParameter::Body(MailBodyParameter::EightBitMime);
            parameters.extend([MailParameter::SmtpUtfEight, eight_bits]);
        }
        let from = MailFrom::new(Some(self.from.email.clone()), parameters);
        connection.command(from).await.map_err(unavailable)?;
        let to = Rcpt::new(to, Vec::new());
        connection.command(to).await.map_err(judge)?;
        connection.command(Data).await.map_err(judge)?;
        connection.message(message).await.map_err(judge)?;
        Ok(())
    }
}

/// Converts a domain in another script to ASCII.
fn recipient(text: &str) -> Result<Address, MailError> {
    let (user, domain) = text.rsplit_once('@').unwrap_or((text, ""));
    let ascii = || Host::parse(domain).ok().map(|host| host.to_string());
    let domain = if domain.is_ascii() {
        Some(domain.to_owned())
    } else {
        ascii()
    };
    domain
        .and_then(|domain| Address::new(user, domain).ok())
        .ok_or_else(|| MailError::Refused("the address is not valid".to_owned()))
}

fn judge(error: smtp::Error) -> MailError {
    if error.is_permanent() {
        MailError::Refused(error.to_string())
    } else {
        unavailable(error)
    }
}

fn unavailable(error: smtp::Error) -> MailError {
    MailError::Unavailable(error.to_string())
}

fn too_late() -> MailError {
    MailError::Unavailable("it did not answer in time".to_owned())
}
