//! `legwork tasks quote` and `legwork tasks create`

use clap::ArgMatches;
use legwork_client::{
    Approval, ApprovalStatus, Client, CreatedTask, Environment, PaymentStatus, Status,
};
use serde_json::Value;

use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{print_object, progress};
use crate::cli::tell;

pub async fn quote(client: &Client, arguments: &ArgMatches, wanted: &Value) -> Result<(), Failed> {
    let quote = client.request("POST", "/v1/quotes", Some(wanted)).await?;
    print_object(arguments, &quote)?;
    let id = quote["id"].as_str().unwrap_or_default();
    progress(&format!(
        "\nCreate it with: legwork tasks create --quote {id}"
    ));
    Ok(())
}

/// Creates the task that is wanted, or that of a quote.
pub async fn create(
    client: &Client,
    arguments: &ArgMatches,
    wanted: Option<Value>,
    quote: Option<String>,
) -> Result<(), Failed> {
    let once = match arguments.get_one::<String>("idempotency-key") {
        Some(key) => client.with_idempotency_key(key),
        None => client.clone(),
    };
    let task = match (quote, wanted) {
        (Some(quote), _) => once.tasks().redeem(&quote).await?,
        (None, Some(wanted)) => create_as_written(&once, &wanted).await?,
        (None, None) => return Ok(()),
    };
    print_object(arguments, &task)?;
    if task.status == Status::Pending
        && let Some(reason) = why_it_waits(client, &task).await
    {
        tell(format_args!("\n{reason}"));
    }
    progress(&format!(
        "\nFollow it with: legwork tasks watch {}",
        task.id
    ));
    Ok(())
}

/// Creates a task from what somebody wrote, with fields that this version does not know: the server names them.
pub async fn create_as_written(client: &Client, wanted: &Value) -> Result<CreatedTask, Failed> {
    let created = client.request("POST", "/v1/tasks", Some(wanted)).await?;
    serde_json::from_value(created)
        .map_err(|error| Failed::Refused(format!("the answer is not a task: {error}")))
}

/// What has to happen before people see a task that is pending; none if nobody has to do anything.
async fn why_it_waits(client: &Client, task: &CreatedTask) -> Option<String> {
    let approval = client.approvals().get(&task.id).await;
    let is_waiting = |approval: &Approval| approval.status == ApprovalStatus::Waiting;
    if let Some(approval) = approval.ok().filter(is_waiting) {
        return Some(format!(
            "It waits for an approval, until {}: the owner of the account gives it with\n\
             `legwork approvals approve {}`, or at {}",
            approval.expires_at, task.id, approval.url
        ));
    }
    // The key may create, and not read. In test nothing else lets a task wait.
    if task.environment == Environment::Test {
        return Some("It waits for an approval by the owner of the account.".to_owned());
    }
    let by_hand = |url: Option<String>| match url {
        Some(url) => format!("It waits for your payment: pay at {url}"),
        None => "It waits for your payment: pay with its payment_client_secret.".to_owned(),
    };
    match client.tasks().payment(&task.id).await {
        Ok(payment) => {
            (payment.status == PaymentStatus::RequiresPayment).then(|| by_hand(payment.payment_url))
        }
        Err(_) => task.payment_client_secret.as_ref().map(|_| by_hand(None)),
    }
}
