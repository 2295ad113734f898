/** Requests: the key, time-outs, retries. */

import { AnswerError, APIError, ERRORS, IdempotencyInFlightError, LegworkError, NetworkError, TimedOutError } from "./errors.js";

export const VERSION = "0.1.0";
/** Where a server listens on your own machine. */
export const DEFAULT_BASE_URL = "http://127.0.0.1:8080";
/** Whoever is told to come back later than this decides for themselves. */
export const LONGEST_WAIT_MS = 60_000;

export interface ClientOptions {
  /** Where the service is [default: `http://127.0.0.1:8080`]. */
  baseUrl?: string;
  /** For one try [default: 30,000]. */
  timeoutMs?: number;
  /**
   * How often a request is sent again [default: 3]. That happens after 408, 429 and 503, and when the connection fails.
   * All tries of a POST carry the same Idempotency-Key, so that it takes effect once.
   */
  maxRetries?: number;
  /** Names your program, before the name of this library. */
  userAgent?: string;
}

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Each `{…}` is replaced by the next id. */
  path: string;
  ids?: string[];
  query?: object;
  body?: unknown;
}

export class Http {
  readonly baseUrl: string;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  private readonly headers: Record<string, string>;
  private readonly endsAt: number | undefined;

  constructor(key: string, options: ClientOptions) {
    this.baseUrl = (options.baseUrl ?? DEFAULT_BASE_URL).replace(/\/+$/, "");
    if (!/^https?:\/\/./.test(this.baseUrl)) throw new TypeError(`${this.baseUrl} is not a URL of a server`);
    if (!/^[!-~]+$/.test(key)) throw new TypeError("the API key is empty, or not one");
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.maxRetries = options.maxRetries ?? 3;
    const agent = `legwork-typescript/${VERSION}`;
    this.headers = {
      Authorization: `Bearer ${key}`,
      "User-Agent": options.userAgent ? `${options.userAgent} ${agent}` : agent,
    };
  }

  /** The same, but all requests end at this time of `performance.now()`, tries and pauses included. */
  until(endsAt: number | undefined): Http {
    return Object.assign(Object.create(Http.prototype) as Http, this, { endsAt });
  }

  /** How many milliseconds are left until then. Timers may be a little early, so very little is nothing. */
  left(): number {
    if (this.endsAt === undefined) return Infinity;
    const left = this.endsAt - performance.now();
    return left < 5 ? 0 : left;
  }

  async send<T>(call: Call, read: (answer: Response) => Promise<T>, idempotencyKey?: string): Promise<T> {
    const isPost = call.method === "POST";
    const key = isPost ? { "Idempotency-Key": idempotencyKey ?? crypto.randomUUID() } : undefined;
    // The body is read within the try: it may break, too.
    return this.tried(this.timeoutMs, this.baseUrl, async (signal) => read(await this.open(call, key ?? {}, signal)));
  }

  /** Asks until it is answered, refused for good, or tried often enough. */
  private async tried<T>(timeoutMs: number, url: string, attempt: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let tried = 0; ; tried++) {
      try {
        const signal = AbortSignal.timeout(Math.ceil(Math.min(timeoutMs, this.left())));
        return await this.guard(() => attempt(signal), url);
      } catch (error) {
        const wait = pause(error, tried);
        if (wait === undefined || tried >= this.maxRetries) throw error;
        const left = this.left();
        await sleep(Math.min(wait, left));
        if (wait >= left) throw error;
      }
    }
  }

  /** Sends a request once. */
  async open(call: Call, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const isJson = call.body !== undefined && !(call.body instanceof FormData);
    const answer = await this.guard(() =>
      fetch(this.url(call), {
        method: call.method,
        headers: { ...this.headers, ...(isJson ? { "Content-Type": "application/json" } : {}), ...headers },
        body: call.body instanceof FormData ? call.body : isJson ? JSON.stringify(call.body) : null,
        // The key is for this server.
        redirect: "manual",
        signal,
      }),
    );
    if (!answer.ok) throw await this.guard(() => refused(answer));
    return answer;
  }

  /** Reads a file by its signed URL. The key is not sent: the URL may lead to another host. */
  async fetchFile(url: string): Promise<Uint8Array> {
    // Files are larger than answers. The query is the signature, which belongs in no message.
    return this.tried(this.timeoutMs * 4, url.split("?")[0] ?? "", async (signal) => {
      const answer = await fetch(url, { redirect: "manual", signal });
      if (!answer.ok) throw await refused(answer);
      return new Uint8Array(await answer.arrayBuffer());
    });
  }

  private url({ path, ids = [], query = {} }: Call): string {
    // "" and ".." would lead to another path. No object has such an id.
    const rest = ids.map((id) => (/^\.*$/.test(id) ? "-" : id));
    const parts = path.split("/").map((part) => (part.startsWith("{") ? encodeURIComponent(rest.shift() ?? "") : part));
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      // `metadata` has a parameter for each key; several words are one.
      if (Array.isArray(value)) parameters.set(name, value.join(","));
      else if (typeof value === "object" && value !== null)
        for (const [key, each] of Object.entries(value)) parameters.set(`${name}.${key}`, String(each));
      else if (value !== undefined && value !== null) parameters.set(name, String(value));
    }
    const text = parameters.toString();
    return `${this.baseUrl}${parts.join("/")}${text ? `?${text}` : ""}`;
  }

  /** Turns what `fetch` throws into errors of this library. */
  async guard<T>(work: () => Promise<T>, url = this.baseUrl): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LegworkError) throw error;
      if (error instanceof DOMException && error.name === "TimeoutError")
        throw new TimedOutError(`${url} did not answer in time`, { cause: error });
      if (error instanceof SyntaxError)
        throw new AnswerError(`${url} did not answer as Legwork does: ${error.message}`, { cause: error });
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new NetworkError(`${url} cannot be reached: ${cause}`, { cause: error });
    }
  }
}

/** What only Legwork answers: an object that has this field. A `data` is always a list of objects. */
export async function readObject<T>(answer: Response, has: keyof T & string): Promise<T> {
  const found: unknown = await answer.json();
  const given = isObject(found) ? found[has] : undefined;
  const isOurs = has === "data" ? Array.isArray(given) && given.every(isObject) : given !== undefined;
  if (!isOurs) throw new AnswerError(`${nameOf(answer)} did not answer as Legwork does: it has no ${has}`);
  return found as T;
}

export async function readZip(answer: Response): Promise<Uint8Array> {
  const content = new Uint8Array(await answer.arrayBuffer());
  if (content[0] !== 0x50 || content[1] !== 0x4b)
    throw new AnswerError(`${nameOf(answer)} did not answer as Legwork does: this is no ZIP file`);
  return content;
}

/** What was asked, for messages. Without the query: it has what somebody searches for, and the signature of a file. */
function nameOf(answer: Response): string {
  return answer.url.split("?")[0] ?? "";
}

export function isObject(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

async function refused(answer: Response): Promise<APIError | AnswerError> {
  const after = answer.headers.get("retry-after")?.trim() ?? "";
  const [status, retryAfter] = [answer.status, /^\d+$/.test(after) ? Number(after) : undefined];
  const error = refusal(await answer.text());
  if (!error) {
    const message = `${nameOf(answer)} did not answer as Legwork does, but ${status}`;
    return new AnswerError(message, { status, retryAfter });
  }
  const { code, message, details } = error;
  const requestId = error.request_id ?? answer.headers.get("x-request-id") ?? "";
  const known = Object.hasOwn(ERRORS, code) ? ERRORS[code] : undefined;
  return new (known ?? APIError)({ status, code, message, requestId, details, retryAfter });
}

/** The `error` of an answer; undefined if it is not JSON, or not ours. */
function refusal(text: string): { code: string; message: string; request_id?: string; details?: unknown } | undefined {
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } };
    return typeof error.code === "string" && typeof error.message === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}

/** How long to wait before the next try; undefined if another would end the same way. */
function pause(error: unknown, tried: number): number | undefined {
  let asked: number | undefined;
  if (error instanceof APIError || error instanceof AnswerError) {
    // Then the first try is still at work.
    const isEarly = error instanceof IdempotencyInFlightError;
    if (![408, 429, 503].includes(error.status ?? 0) && !isEarly) return undefined;
    asked = error.retryAfter;
  } else if (!(error instanceof NetworkError)) return undefined;
  const wait = asked === undefined ? backoff(tried) * (0.5 + Math.random() / 2) : asked * 1000 + Math.random() * 250;
  return wait < LONGEST_WAIT_MS ? wait : undefined;
}

/** Whether a stream goes on after this. */
export function isPassing(error: unknown): boolean {
  const status = refusedWith(error);
  return status === undefined ? error instanceof NetworkError : [408, 429].includes(status) || status >= 500;
}

/** The status of an answer that refuses, whoever gave it. */
function refusedWith(error: unknown): number | undefined {
  return error instanceof APIError || error instanceof AnswerError ? error.status : undefined;
}

export function backoff(tried: number): number {
  return 500 * 2 ** Math.min(tried, 4);
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds));
}
