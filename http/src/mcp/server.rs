//! The server of the protocol: which tools there are for whom, and how answers are packed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CustomRequest, CustomResult, GetTaskParams, GetTaskResult, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    UpdateTaskParams,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;

use super::calls::{Call, Progress};
use super::reach::{Answer, Reach};
use super::refusals::{failed, refused};
use super::resources::guide;
use super::tools::{Access, TOOLS};
use super::waits::{self, Stopped, Wait};
use super::{approvals, messages, proofs, resources};

/// A body of the API has half of that at most, and a message that is written anew may be somewhat longer.
const MOST_BYTES: usize = 512 * 1024;

/// Finds the API for a request: by its key, or always the same.
pub trait Connect: Send + Sync + 'static {
    fn api(&self, request: Option<&Parts>) -> Option<Arc<dyn Reach>>;

    /// How long developers have to review proof, if that is known here.
    fn time_to_review(&self) -> Option<Duration> {
        None
    }
}

/// Not generic: most of the protocol's crate is compiled for its server, and so it is compiled once, here.
#[derive(Clone)]
pub struct Server {
    to: Arc<dyn Connect>,
    stopped: Arc<Stopped>,
}

impl Server {
    fn new(to: Arc<dyn Connect>) -> Self {
        let stopped = Arc::default();
        Self { to, stopped }
    }
}

/// For `/mcp`. It keeps no sessions: any server of a service can answer any request.
pub fn http_service(to: Arc<dyn Connect>) -> StreamableHttpService<Server, NeverSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MOST_BYTES)
        // Every request carries a key, which no page of another host has. Pages are refused all the same.
        .disable_allowed_hosts()
        .enforce_origin_validation();
    let server = Server::new(to);
    StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    )
}

/// For `legwork mcp`: until standard input ends. In a box, or the future would be compiled by its caller.
pub fn serve_on_stdio(to: Arc<dyn Connect>) -> Pin<Box<dyn Future<Output = Result<(), String>>>> {
    Box::pin(run_on_stdio(Server::new(to)))
}

async fn run_on_stdio(server: Server) -> Result<(), String> {
    let running = server
        .serve(rmcp::transport::stdio())
        .await
        .map_err(|error| match error {
            ServerInitializeError::ConnectionClosed(_) => {
                "standard input ended before a client spoke. A client starts this command: see `legwork agent setup`"
                    .to_owned()
            }
            error => error.to_string(),
        })?;
    running.waiting().await.map_err(|error| error.to_string())?;
    Ok(())
}

impl Server {
    fn api(&self, context: &RequestContext<RoleServer>) -> Result<Arc<dyn Reach>, ErrorData> {
        let found = self.to.api(context.extensions.get::<Parts>());
        found.ok_or_else(|| {
            ErrorData::invalid_request("an API key is needed: Authorization: Bearer svc_...", None)
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_tasks()
            .build();
        let guide = guide(self.to.time_to_review());
        let mut info = ServerConfig::new(capabilities).with_instructions(guide);
        info.server_info = Implementation::new("legwork", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let api = self.api(&context)?;
        let access = Access::of(api.as_ref()).await;
        let access = access.map_err(|error| failed(&error))?;
        let tools = access
            .tools(api.is_test())
            .map(super::tools::Tool::described);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let api = self.api(&context)?;
        let given = request.arguments.unwrap_or_default();
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {}", request.name),
                None,
            ));
        };
        if let Some(fault) = tool.fault(&given) {
            return Ok(refused(&json!({"code": "VALIDATION_ERROR", "message": fault})).into());
        }
        let token = context.meta.get_progress_token();
        let call = Call {
            api: api.as_ref(),
            given: &given,
            progress: token.map(|token| Progress {
                peer: context.peer.clone(),
                token,
            }),
        };
        // Who wants no more than a look gets it at once.
        let only_looks = call.number("timeout_s") == Some(0);
        if tool.name == "wait_for_task" && has_tasks(&context) && !only_looks {
            return Ok(Wait::begin(&call).await);
        }
        let answer = async {
            let result = run(tool.name, &call).await;
            let was_asked = request.input_responses.is_some();
            approvals::ask(result, was_asked, &context).await
        };
        if tool.changes() {
            return Ok(answer.await);
        }
        // Nobody reads the answer to a call that its client has cancelled, so nothing more is asked for it.
        tokio::select! {
            answer = answer => Ok(answer),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let api = self.api(&context)?;
        let call = Call::of_no_tool(api.as_ref());
        let wait = Wait::parse(&request.task_id)?;
        Ok(wait.state(&call, &self.stopped).await)
    }

    /// A wait asks nothing.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Wait::parse(&request.task_id).map(|_| ())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let api = self.api(&context)?;
        let call = Call::of_no_tool(api.as_ref());
        let wait = Wait::parse(&request.task_id)?;
        wait.cancel(&call, &self.stopped).await
    }

    /// Whatever the crate cannot read as a request that it knows.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(messages::refused(&request))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(resources::all())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let api = self.api(&context)?;
        let call = Call::of_no_tool(api.as_ref());
        let review = self.to.time_to_review();
        Ok(resources::read(&call, &request.uri, review).await?.into())
    }
}

fn has_tasks(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    capabilities.is_some_and(|capabilities| capabilities.supports_tasks())
}

async fn run(name: &str, call: &Call<'_>) -> CallToolResult {
    let answer: Answer = match name {
        "quote_task" => call.quote_task().await,
        "create_task" => call.create_task().await,
        "wait_for_task" => waits::wait(call).await,
        "get_task" => call.get_task().await,
        "list_tasks" => call.list_tasks().await,
        "review_proof" => call.review_proof().await,
        "cancel_task" => call.cancel_task().await,
        "get_mandate" => call.get_mandate().await,
        "advance_test_task" => call.advance_test_task().await,
        _ => {
            return match proofs::look(call).await {
                Ok((told, blocks)) => {
                    let mut result = CallToolResult::structured(told);
                    // The structured part has texts of the worker, too.
                    let warning = ContentBlock::text(proofs::WARNING);
                    result.content.insert(0, warning);
                    result.content.extend(blocks);
                    result
                }
                Err(error) => refused(&error),
            };
        }
    };
    match answer {
        Ok(told) => CallToolResult::structured(told),
        Err(error) => refused(&error),
    }
}
