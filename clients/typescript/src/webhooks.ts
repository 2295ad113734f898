/** Webhooks: checks what arrives, and signs as the server does. */

import { WebhookError } from "./errors.js";
import type { EventType } from "./objects.js";

/** An event that arrived by webhook. */
export interface WebhookEvent {
  /** The same for every attempt: keep it to know a repeat. `X-Service-Signature` does not cover it. */
  id: string;
  event: EventType;
  data: Record<string, unknown>;
}

/** As frameworks have them: `Headers`, or an object by lower-case name. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

const SECRET = /^(?:whsec_)?(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Checks deliveries with the secret of the webhook. While a secret is being replaced, give both. */
export class Webhook {
  private readonly secrets: string[];
  private readonly toleranceSeconds: number;

  constructor(secrets: string | string[], options: { toleranceSeconds?: number } = {}) {
    // Secrets that are read from a file end with a line break.
    this.secrets = [secrets].flat().map((each) => each.trim());
    if (this.secrets.length === 0) throw new TypeError("a secret is needed");
    // An empty key would be worse than none: with that, everybody could sign.
    if (!this.secrets.every((each) => SECRET.test(each)))
      throw new TypeError("the secret of a webhook is whsec_ and base64: this one is empty, or not one");
    this.toleranceSeconds = options.toleranceSeconds ?? 300;
  }

  /** The event of a delivery. `body` is the raw body, `now` Unix seconds. */
  async verify(headers: WebhookHeaders, body: string | Uint8Array, now = Date.now() / 1000): Promise<WebhookEvent> {
    const header = finder(headers);
    const id = header("webhook-id") ?? "";
    // The standard signature covers more, so it is the one that counts where there is one.
    const isStandard = header("webhook-signature") !== undefined;
    const scheme = isStandard ? "webhook" : "x-service";
    const given = header(`${scheme}-signature`);
    const sent = header(`${scheme}-timestamp`) ?? "";
    if (given === undefined) throw new WebhookError("the webhook is not valid: it is not signed");
    if (!/^\d{1,19}$/.test(sent)) throw new WebhookError("the webhook is not valid: it has no timestamp");
    if (Math.abs(now - Number(sent)) > this.toleranceSeconds)
      throw new WebhookError("the webhook is not valid: its timestamp is too far from now");
    const content = typeof body === "string" ? body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(body);
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const values = given.split(isStandard ? " " : ",").map((value) => value.trim());
    const signatures = values.map(isStandard ? standardSignature : ownSignature);
    const message = isStandard ? `${id}.${sent}.` : `${sent}.`;
    for (const secret of this.secrets) {
      const key = await importKey(secret, isStandard);
      for (const signature of signatures)
        // Compares in constant time.
        if (signature && (await crypto.subtle.verify("HMAC", key, signature, joined(message, bytes))))
          return parsed(id, content);
    }
    throw new WebhookError("the webhook is not valid: no signature matches");
  }

  /** The headers of a delivery as the server would send it, with every secret. */
  async sign(id: string, body: string, timestamp = Math.floor(Date.now() / 1000)): Promise<Record<string, string>> {
    const bytes = new TextEncoder().encode(body);
    const mac = async (secret: string, isStandard: boolean, message: string) => {
      const key = await importKey(secret, isStandard);
      return new Uint8Array(await crypto.subtle.sign("HMAC", key, joined(message, bytes)));
    };
    const own = await Promise.all(this.secrets.map((secret) => mac(secret, false, `${timestamp}.`)));
    const standard = await Promise.all(this.secrets.map((secret) => mac(secret, true, `${id}.${timestamp}.`)));
    const hex = (each: Uint8Array) => [...each].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return {
      "X-Service-Timestamp": String(timestamp),
      "X-Service-Signature": own.map((each) => `v1=${hex(each)}`).join(","),
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": standard.map((each) => `v1,${btoa(String.fromCharCode(...each))}`).join(" "),
    };
  }
}

function finder(headers: WebhookHeaders): (name: string) => string | undefined {
  if (headers instanceof Headers) return (name) => headers.get(name) ?? undefined;
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const found = new Map(lower);
  return (name) => [found.get(name)].flat()[0];
}

function joined(message: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const start = new TextEncoder().encode(message);
  const whole = new Uint8Array(start.length + body.length);
  whole.set(start);
  whole.set(body, start.length);
  return whole;
}

function ownSignature(value: string): Uint8Array<ArrayBuffer> | undefined {
  const hex = /^v1=([0-9a-f]{64})$/.exec(value)?.[1];
  return hex === undefined ? undefined : Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}

function standardSignature(value: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return value.startsWith("v1,") ? fromBase64(value.slice(3)) : undefined;
  } catch {
    return undefined;
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function importKey(secret: string, isStandard: boolean): Promise<CryptoKey> {
  const bytes = isStandard ? fromBase64(secret.replace(/^whsec_/, "")) : new TextEncoder().encode(secret);
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

function parsed(id: string, content: string): WebhookEvent {
  try {
    const { event, data } = JSON.parse(content) as WebhookEvent;
    if (typeof event === "string" && typeof data === "object" && data !== null) return { id, event, data };
  } catch {
    // Said below.
  }
  throw new WebhookError("the webhook is not valid: it is not an event");
}
