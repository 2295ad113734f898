//! What the server prints when it starts.

use super::https::Https;
use super::{Failure, Front};
use crate::ambient::Clock;
use crate::cli::browsable;
use crate::cli::operator::people::account_access::LOCAL_DEVELOPER;
use crate::domain::{Actor, NewAccount, Tier};
use crate::settings::Settings;
use crate::store::{Store, Tx};
use crate::usecases::{self, OpenedAccount, UseCaseError};

/// On the first local start, prints how to use the service. Always prints the address last.
pub async fn greet(store: &Store, settings: &Settings, front: &Front) -> Result<(), Failure> {
    let (url, address) = (&front.url, front.listener.local_addr()?);
    let empty = store
        .snapshot(|tx| Ok::<_, UseCaseError>(tx.accounts_after(None, 1)?.is_empty()))
        .await?;
    let fingerprint = front.https.as_ref().and_then(Https::fingerprint);
    if empty && settings.local().creates_an_account() {
        // curl knows no authority that vouches for a self-signed certificate.
        let curl = if fingerprint.is_some() {
            "curl -k"
        } else {
            "curl"
        };
        open_first_account(store, url, &format!("{curl} {url}")).await?;
    } else if empty {
        announce("There is no account yet. Create one: legwork account create --help");
    }
    announce(format_args!("API reference: {url}/docs"));
    if let Some(fingerprint) = fingerprint {
        announce(format_args!(
            "The certificate is self-signed. Compare its SHA-256 fingerprint before you trust it:\n  {fingerprint}"
        ));
    }
    let scheme = if front.https.is_some() {
        "https"
    } else {
        "http"
    };
    announce(format_args!("Legwork listens on {scheme}://{address}"));
    Ok(())
}

async fn open_first_account(store: &Store, url: &str, curl: &str) -> Result<(), Failure> {
    let new = NewAccount {
        email: LOCAL_DEVELOPER.to_owned(),
        name: "Developer".to_owned(),
        company: None,
        tier: Tier::Growth,
    };
    let opened = OpenedAccount::new(&new, Clock::system().now());
    let written = opened.clone();
    let create =
        move |tx: &mut Tx<'_>| usecases::create_local_account(tx, &written, &Actor::SERVICE);
    match store.write(create).await {
        Ok((sign_in, invited)) => {
            let links = [
                browsable(&format!("{url}{}", sign_in.path())),
                browsable(&format!("{url}{}", invited.path())),
            ];
            introduce(&opened, &links, curl);
        }
        // Another server on the same empty database was faster, and printed its keys.
        Err(UseCaseError::EmailTaken) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// `curl` is the command up to the path.
fn introduce(opened: &OpenedAccount, [sign_in, invitation]: &[String; 2], curl: &str) {
    let (live, test) = (
        opened.live_key.secret.expose(),
        opened.test_key.secret.expose(),
    );
    announce(format_args!(
        "This is the first start, so we created an account for you: {email}
Its keys are shown only once:

  live  {live}
  test  {test}

Open your dashboard (the link works once, for an hour, on this machine):

  {sign_in}

Choose a password to sign in later (this link works once, for 7 days):

  {invitation}

Create your first task (test mode, no money moves):

  {curl}/v1/tasks \\
    -H 'Authorization: Bearer {test}' \\
    -d '{{\"title\": \"Photograph a storefront\",
         \"description\": \"Front of the shop with the opening hours in view.\",
         \"category\": \"photography\", \"budget_cents\": 2500,
         \"location\": {{\"city\": \"Brooklyn\", \"state\": \"NY\",
                      \"latitude\": 40.7163, \"longitude\": -73.9595}}}}'
",
        email = opened.account.email
    ));
}

/// Prints a line. The server continues even if no one reads it.
pub fn announce(line: impl std::fmt::Display) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}
