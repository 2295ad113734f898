//! E-mail over SMTP.

mod letter;
mod server;
mod smtp_url;

use std::sync::Arc;
use std::time::Duration;

use lettre::address::{Address, Envelope};
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart};
use lettre::transport::smtp;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use tokio::time::{Instant, timeout, timeout_at};
use url::Host;

pub use letter::{Letter, Link};

use crate::domain::Secret;
use server::Server;
use smtp_url::SmtpUrl;

/// For a mail to be taken, from the first packet on.
const TIME_LIMIT: Duration = Duration::from_secs(30);
/// For the server's good-bye, which changes nothing any more.
const FAREWELL_LIMIT: Duration = Duration::from_secs(1);

pub struct Mail {
    /// 32 hex digits. The mail keeps them when it is sent again, so that a second copy of it can be
    /// told from another mail.
    pub id: String,
    /// The bare address.
    pub to: String,
    pub letter: Letter,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// It can be tried again. In rare cases the server has taken it all the same.
    #[error("the mail server is not available: {0}")]
    Unavailable(String),
    /// For good: the server does not take this mail, or no server would take the address.
    #[error("the mail was refused: {0}")]
    Refused(String),
}

/// Hands mails to one server, each over a connection of its own.
#[derive(Clone)]
pub struct Mailer {
    server: Arc<Server>,
    from: Mailbox,
    time_limit: Duration,
}

impl Mailer {
    /// Reaches nobody yet. `from` is an address, with or without a name: `Legwork <a@b.example>`.
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

    /// With another limit than 30 seconds.
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    pub async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let to = recipient(&mail.to)?;
        let message = self.compose(mail, &to)?;
        let deadline = Instant::now() + self.time_limit;
        let connecting = timeout_at(deadline, self.server.connect());
        let mut connection = connecting.await.map_err(|_| too_late())??;
        let handing_over = timeout_at(deadline, self.hand_over(&mut connection, to, &message));
        let taken = handing_over.await.map_err(|_| too_late())?;
        let _ = timeout(FAREWELL_LIMIT, connection.abort()).await;
        taken
    }

    fn compose(&self, mail: &Mail, to: &Address) -> Result<Vec<u8>, MailError> {
        let unrendered = |e: askama::Error| MailError::Refused(e.to_string());
        let parts = MultiPart::alternative_plain_html(
            mail.letter.text().map_err(unrendered)?,
            mail.letter.html().map_err(unrendered)?,
        );
        // Told, not read from the headers: a strange address might be read as several.
        let envelope = Envelope::new(Some(self.from.email.clone()), vec![to.clone()]);
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to.clone()))
            .subject(mail.letter.subject_line())
            .message_id(Some(format!("<{}@{}>", mail.id, self.from.email.domain())))
            // Asks programs that answer for people on leave to keep quiet (RFC 3834).
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .envelope(envelope.map_err(|e| MailError::Refused(e.to_string()))?)
            .multipart(parts)
            .map_err(|e| MailError::Refused(e.to_string()))?;
        Ok(message.formatted())
    }

    /// Step by step, because what a 5xx means depends on the step: that our sender is not welcome
    /// is the operator's to mend, and no mail should be lost over it.
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
                let reason = "the mail server takes addresses in ASCII alone";
                return Err(MailError::Refused(reason.to_owned()));
            }
            // Such an address stands in the head of the mail, which is not ASCII then.
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

/// An address as servers take it: a domain in another script is written in ASCII.
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
        .ok_or_else(|| MailError::Refused("the address is not one".to_owned()))
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
    MailError::Unavailable("it took too long to answer".to_owned())
}
