/** The client, and every operation. */

import { StillWaitingError, TaskEndedError } from "./errors.js";
import { EventStream, type StreamOptions } from "./events.js";
import { type Call, type ClientOptions, Http, isPassing, readObject, readZip } from "./http.js";
import * as o from "./objects.js";

/** A client with an API key. */
export class Client {
  /** @internal */
  readonly http: Http;
  /** @internal */
  readonly idempotencyKey: string | undefined;
  readonly tasks = new Tasks(this);
  readonly quotes = new Quotes(this);
  readonly proofs = new Proofs(this);
  readonly approvals = new Approvals(this);
  readonly logs = new Logs(this);
  readonly events = new Events(this);
  readonly account = new AccountApi(this);
  readonly keys = new Keys(this);
  readonly mandate = new Mandates(this);
  readonly paymentMethod = new PaymentMethods(this);
  readonly exports = new Exports(this);
  readonly webhook = new WebhookApi(this);
  readonly deliveries = new Deliveries(this);
  readonly testHelpers = new TestHelpers(this);

  constructor(key: string, options?: ClientOptions);
  /** @internal */
  constructor(http: Http, idempotencyKey?: string);
  constructor(key: string | Http, given: ClientOptions | string = {}) {
    this.http = key instanceof Http ? key : new Http(key.trim(), given as ClientOptions);
    this.idempotencyKey = typeof given === "string" ? given : undefined;
  }

  /**
   * The same client, whose POSTs carry your own Idempotency-Key. Use it for one request: the server then knows a repeat of it,
   * even after your program was restarted.
   */
  withIdempotencyKey(key: string): Client {
    return new Client(this.http, key);
  }

  get baseUrl(): string {
    return this.http.baseUrl;
  }
}

interface PageBody<T> {
  data: T[];
  meta?: { total?: number; offset?: number; next_cursor?: string | null };
}

/** The objects of a list, however many pages it has. The next page is asked for when it is needed. */
export class Pages<T> implements AsyncIterable<T> {
  /** How many there are in the whole list, where the list says so and a page was read. */
  total: number | undefined;
  private isOver = false;
  /** What is left of a page when somebody wanted less than all of it. */
  private readonly rest: T[] = [];

  constructor(
    private readonly client: Client,
    private readonly call: Call & { query: Record<string, unknown> },
  ) {}

  /** The next page as a whole; undefined at the end. */
  async nextPage(): Promise<T[] | undefined> {
    if (this.isOver) return undefined;
    const page = await this.client.http.send(this.call, (answer) => readObject<PageBody<T>>(answer, "data"));
    const { total, offset, next_cursor: cursor } = page.meta ?? {};
    const next = (offset ?? 0) + page.data.length;
    this.total = total;
    if (cursor) this.call.query["cursor"] = cursor;
    else if (total !== undefined && page.data.length > 0 && next < total) this.call.query["offset"] = next;
    else this.isOver = true;
    return page.data;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (let taken = await this.take(1); taken.length > 0; taken = await this.take(1)) yield* taken;
  }

  /** Every object that is left, up to a number of them. */
  async take(most: number): Promise<T[]> {
    for (let page; this.rest.length < most && (page = await this.nextPage()); ) this.rest.push(...page);
    return this.rest.splice(0, most);
  }
}

class Resource {
  constructor(protected readonly client: Client) {}

  /** `has` is a field by which the answer is told from that of another program. */
  protected call<T>(
    method: Call["method"],
    path: string,
    has: keyof T & string,
    ids: string[] = [],
    body?: unknown,
  ): Promise<T> {
    const { http, idempotencyKey } = this.client;
    return http.send({ method, path, ids, body }, (answer) => readObject<T>(answer, has), idempotencyKey);
  }

  protected pages<T>(path: string, ids: string[] = [], query: object = {}): Pages<T> {
    return new Pages(this.client, { method: "GET", path, ids, query: { ...query } });
  }
}

/** Work that people do for you. */
export class Tasks extends Resource {
  create(task: o.CreateTask): Promise<o.CreatedTask> {
    return this.call("POST", "/v1/tasks", "budget_cents", [], task);
  }

  /** Creates the task of a quote, once: the same quote again answers the same task. */
  redeem(quoteId: string): Promise<o.CreatedTask> {
    return this.call("POST", "/v1/tasks", "budget_cents", [], { quote_id: quoteId });
  }

  /** Up to 100 at once. Each is created or refused on its own. */
  createBatch(tasks: o.CreateTask[]): Promise<o.CreatedTasks> {
    return this.call("POST", "/v1/tasks/batch", "data", [], { tasks });
  }

  list(filter: o.TaskFilter = {}): Pages<o.TaskSummary> {
    return this.pages("/v1/tasks", [], filter);
  }

  /** By your own references (`metadata`), words (`q`), category, status and time. */
  search(search: o.TaskSearch = {}): Pages<o.FoundTask> {
    return this.pages("/v1/tasks/search", [], search);
  }

  get(id: string): Promise<o.Task> {
    return this.call("GET", "/v1/tasks/{id}", "budget_cents", [id]);
  }

  /** Changes a task that is still pending. */
  update(id: string, change: o.UpdateTask): Promise<o.Task> {
    return this.call("PATCH", "/v1/tasks/{id}", "budget_cents", [id], change);
  }

  /** Refused with `REFUND_DIFFERS` if another amount than the expected one would come back. */
  cancel(id: string, expectedRefundCents?: number): Promise<o.CancelledTask> {
    return this.call("POST", "/v1/tasks/{id}/cancel", "cancelled_at", [id], { expected_refund_cents: expectedRefundCents });
  }

  history(id: string, page: o.Page = {}): Pages<o.HistoryEntry> {
    return this.pages("/v1/tasks/{id}/history", [id], page);
  }

  ledger(id: string, page: o.Page = {}): Pages<o.LedgerEntry> {
    return this.pages("/v1/tasks/{id}/ledger", [id], page);
  }

  payment(id: string): Promise<o.Payment> {
    return this.call("GET", "/v1/tasks/{id}/payment", "escrow_cents", [id]);
  }

  dispute(id: string): Promise<o.Dispute> {
    return this.call("GET", "/v1/tasks/{id}/dispute", "opened_at", [id]);
  }

  answerDispute(id: string, statement: string): Promise<o.Dispute> {
    return this.call("POST", "/v1/tasks/{id}/dispute/statement", "opened_at", [id], { statement });
  }

  /** A signed ZIP file with all that proves the work. */
  bundle(id: string): Promise<Uint8Array> {
    const call: Call = { method: "GET", path: "/v1/tasks/{id}/bundle", ids: [id] };
    return this.client.http.send(call, readZip);
  }

  /**
   * Waits until a task has one of these statuses, and returns it. It listens to the task's events, so it takes no requests
   * while nothing happens. When the account has no more streams, it looks every few seconds instead. When the task has ended
   * with another status, it throws a TaskEndedError. After the time-out it throws a StillWaitingError, or what kept it from
   * reading the task even once: a TimedOutError if the server did not answer.
   */
  async waitUntil(id: string, statuses: o.Status[], options: { timeoutMs?: number } = {}): Promise<o.Task> {
    const { timeoutMs } = options;
    const http = this.client.http.until(timeoutMs === undefined ? undefined : performance.now() + timeoutMs);
    const client = new Client(http);
    const stream = new EventStream(client, { taskId: id });
    let task: o.Task | undefined;
    try {
      for (;;) {
        task = await client.tasks.get(id);
        if (statuses.includes(task.status)) return task;
        if (o.FINAL_STATUSES.includes(task.status)) throw new TaskEndedError(task, statuses);
        // The first news is the connection itself: what happened before it is seen by another look.
        await stream.news();
      }
    } catch (error) {
      if (!task || timeoutMs === undefined || http.left() > 0 || !isPassing(error)) throw error;
      throw new StillWaitingError(task.status, timeoutMs / 1000, { cause: error });
    } finally {
      stream.close();
    }
  }
}

/** What a task would cost, and whether somebody will do it. */
export class Quotes extends Resource {
  /** Creates nothing. It is good for 15 minutes. */
  create(task: o.CreateTask): Promise<o.Quote> {
    return this.call("POST", "/v1/quotes", "coverage", [], task);
  }

  get(id: string): Promise<o.Quote> {
    return this.call("GET", "/v1/quotes/{id}", "coverage", [id]);
  }
}

/** What workers sent to show that the work is done. */
export class Proofs extends Resource {
  list(taskId: string, page: o.Page = {}): Pages<o.Proof> {
    return this.pages("/v1/tasks/{id}/proofs", [taskId], page);
  }

  /** Pays the worker. */
  approve(taskId: string, proofId: string): Promise<o.ApprovedProof> {
    return this.call("POST", "/v1/tasks/{id}/proofs/{proof_id}/approve", "task", [taskId, proofId]);
  }

  reject(taskId: string, proofId: string, reason: string): Promise<o.RejectedProof> {
    return this.call("POST", "/v1/tasks/{id}/proofs/{proof_id}/reject", "task", [taskId, proofId], { reason });
  }

  evidence(taskId: string, proofId: string): Promise<o.Evidence> {
    return this.call("GET", "/v1/tasks/{id}/proofs/{proof_id}/evidence", "proof_id", [taskId, proofId]);
  }

  /** The file of a proof. Its `file_url` works for an hour: list the proofs anew for another. */
  async download(proof: o.Proof): Promise<Uint8Array> {
    if (proof.file_url === null) throw new TypeError("the file of this proof is no longer kept");
    return this.client.http.fetchFile(proof.file_url);
  }
}

/** What the account asked in the last 7 days. Only for unlimited keys. */
export class Logs extends Resource {
  /** Newest first. */
  list(filter: o.LogFilter = {}): Pages<o.LoggedRequest> {
    return this.pages("/v1/logs", [], filter);
  }
}

/** Tasks of limited keys that wait for a person's yes. Only unlimited keys decide. */
export class Approvals extends Resource {
  /** Newest first. */
  list(filter: o.ApprovalFilter = {}): Pages<o.Approval> {
    return this.pages("/v1/approvals", [], filter);
  }

  get(taskId: string): Promise<o.Approval> {
    return this.call("GET", "/v1/tasks/{id}/approval", "key_id", [taskId]);
  }

  /** Charges the task, as if it had just been created. */
  approve(taskId: string): Promise<o.Approval> {
    return this.call("POST", "/v1/tasks/{id}/approval/approve", "key_id", [taskId]);
  }

  /** Cancels the task. */
  refuse(taskId: string): Promise<o.Approval> {
    return this.call("POST", "/v1/tasks/{id}/approval/refuse", "key_id", [taskId]);
  }
}

/** What happened. */
export class Events extends Resource {
  /** Newest first. */
  list(filter: o.EventFilter = {}): Pages<o.Event> {
    return this.pages("/v1/events", [], filter);
  }

  /** Events as they happen. */
  stream(options: StreamOptions = {}): EventStream {
    return new EventStream(this.client, options);
  }
}

/** Your account. */
export class AccountApi extends Resource {
  get(): Promise<o.Account> {
    return this.call("GET", "/v1/account", "email");
  }

  usage(): Promise<o.Usage> {
    return this.call("GET", "/v1/account/usage", "tasks_limit");
  }

  /** Mails the link that confirms your address once more. */
  sendConfirmation(): Promise<o.Confirmation> {
    return this.call("POST", "/v1/account/confirmation", "confirmed");
  }

  security(): Promise<o.AccountSecurity> {
    return this.call("GET", "/v1/account/security", "test_keys_manage");
  }

  /** Whether test keys manage more than test keys. */
  setSecurity(testKeysManage: o.TestKeysManage): Promise<o.AccountSecurity> {
    return this.call("PUT", "/v1/account/security", "test_keys_manage", [], { test_keys_manage: testKeysManage });
  }

  /** For good. `confirm` is the e-mail address of the account. */
  delete(confirm: string): Promise<o.Account> {
    return this.call("DELETE", "/v1/account", "email", [], { confirm });
  }
}

/** API keys. */
export class Keys extends Resource {
  list(): Pages<o.ApiKey> {
    return this.pages("/v1/account/keys");
  }

  /** The answer has the key itself. It is shown only once. */
  create(key: o.CreateKey): Promise<o.CreatedKey> {
    return this.call("POST", "/v1/account/keys", "key", [], key);
  }

  /** What a key may do and spend, and what is left. */
  mandate(id: string): Promise<o.Mandate> {
    return this.call("GET", "/v1/account/keys/{id}/mandate", "permissions", [id]);
  }

  setMandate(id: string, mandate: o.PutMandate): Promise<o.Mandate> {
    return this.call("PUT", "/v1/account/keys/{id}/mandate", "permissions", [id], mandate);
  }

  /** From then on the key may do everything. */
  liftMandate(id: string): Promise<o.LiftedMandate> {
    return this.call("DELETE", "/v1/account/keys/{id}/mandate", "lifted_at", [id]);
  }

  /**
   * `confirm` is for the last key of its environment, and for the last one without a mandate. Without it, these are refused
   * with `LAST_KEY`.
   */
  revoke(id: string, confirm?: boolean): Promise<o.RevokedKey> {
    return this.call("DELETE", "/v1/account/keys/{id}", "revoked_at", [id], { confirm });
  }
}

/** What the key that you call with may do and spend. */
export class Mandates extends Resource {
  get(): Promise<o.Mandate> {
    return this.call("GET", "/v1/mandate", "permissions");
  }
}

/** What live tasks are charged to. */
export class PaymentMethods extends Resource {
  get(): Promise<o.PaymentMethod> {
    return this.call("GET", "/v1/account/payment_method", "payment_method");
  }

  set(paymentMethod: string): Promise<o.PaymentMethod> {
    return this.call("PUT", "/v1/account/payment_method", "payment_method", [], { payment_method: paymentMethod });
  }

  delete(): Promise<o.PaymentMethod> {
    return this.call("DELETE", "/v1/account/payment_method", "payment_method");
  }
}

/** Archives of everything that is held about you. */
export class Exports extends Resource {
  list(): Pages<o.Export> {
    return this.pages("/v1/account/export");
  }

  create(): Promise<o.Export> {
    return this.call("POST", "/v1/account/export", "files");
  }
}

/** Where events are sent. */
export class WebhookApi extends Resource {
  get(): Promise<o.WebhookState> {
    return this.call("GET", "/v1/account/webhook", "enabled");
  }

  set(webhook: o.PutWebhook): Promise<o.WebhookWithSecret> {
    return this.call("PUT", "/v1/account/webhook", "webhook_secret", [], webhook);
  }

  delete(): Promise<o.WebhookState> {
    return this.call("DELETE", "/v1/account/webhook", "enabled");
  }

  /** Sends a sample. */
  test(): Promise<o.TestDelivery> {
    return this.call("POST", "/v1/account/webhook/test", "delivered");
  }

  /** The old secret signs for another 24 hours. */
  rotateSecret(): Promise<o.WebhookWithSecret> {
    return this.call("POST", "/v1/account/webhook/rotate_secret", "webhook_secret");
  }
}

/** What was sent to the webhook. */
export class Deliveries extends Resource {
  list(filter: o.DeliveryFilter = {}): Pages<o.Delivery> {
    return this.pages("/v1/account/webhook/deliveries", [], filter);
  }

  get(id: string): Promise<o.Delivery> {
    return this.call("GET", "/v1/account/webhook/deliveries/{id}", "attempts_count", [id]);
  }

  redeliver(id: string): Promise<o.Delivery> {
    return this.call("POST", "/v1/account/webhook/deliveries/{id}/redeliver", "attempts_count", [id]);
  }

  /** Sends again what has failed since a time. */
  recover(since: string): Promise<o.RecoveredDeliveries> {
    return this.call("POST", "/v1/account/webhook/deliveries/recover", "recovered", [], { since });
  }
}

/** A file of a test proof. */
export interface File {
  content: Uint8Array;
  /** [default: `image/jpeg`] */
  contentType?: string;
}

/** A simulated worker and a clock of your own, with a test key. */
export class TestHelpers extends Resource {
  /** To the next status, or on the shortest way to the one that is named. */
  advanceTask(id: string, to?: o.Status): Promise<o.Task> {
    return this.call("POST", "/v1/test_helpers/tasks/{id}/advance", "budget_cents", [id], { to });
  }

  submitProof(taskId: string, proof: o.SimulateProof = {}): Promise<o.SubmittedProofs> {
    return this.call("POST", "/v1/test_helpers/tasks/{id}/proofs", "task", [taskId], proof);
  }

  /** Sends your own files as the simulated worker: one for each type of proof. */
  uploadProof(
    taskId: string,
    files: Partial<Record<o.ProofType, File>>,
    position: { gps_latitude?: number; gps_longitude?: number } = {},
  ): Promise<o.SubmittedProofs> {
    const form = new FormData();
    for (const [name, value] of Object.entries(position)) form.set(name, String(value));
    for (const [name, file] of Object.entries(files))
      if (file) form.set(name, new Blob([new Uint8Array(file.content)], { type: file.contentType ?? "image/jpeg" }), name);
    return this.call("POST", "/v1/test_helpers/tasks/{id}/proofs", "task", [taskId], form);
  }

  clock(): Promise<o.TestClock> {
    return this.call("GET", "/v1/test_helpers/clock", "ahead_seconds");
  }

  advanceClock(by: o.AdvanceClock): Promise<o.TestClock> {
    return this.call("POST", "/v1/test_helpers/clock", "ahead_seconds", [], by);
  }

  /** Back to real time. */
  resetClock(): Promise<o.TestClock> {
    return this.call("DELETE", "/v1/test_helpers/clock", "ahead_seconds");
  }
}
